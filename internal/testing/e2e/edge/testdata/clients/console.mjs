// Uses the console as a person does: types, clicks, and looks at each page in both languages, in light and dark, on a desk and on a phone,
// with axe-core.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

// base, key, user, session; parked, a server with two parked jobs; metrics, a page with ten minutes of calls; shots, a folder, or ""
const given = JSON.parse(process.env.STRATA_CONSOLE);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const browser = await puppeteer.launch({
  executablePath: process.env.STRATA_CHROMIUM, headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--lang=en"],
});
const seen = { findings: [], wide: [], texts: {}, plots: [], ran: false, scripts: 0 };
const page = await browser.newPage();
page.setDefaultTimeout(60000);
await page.evaluateOnNewDocument(() => { globalThis.canary = () => { globalThis.ran = true; }; });
await page.setExtraHTTPHeaders({ "Accept-Language": "en" });

const desk = { width: 1200, height: 800 }, phone = { width: 360, height: 740 };
const looks = (size, scheme) => Promise.all([page.setViewport(size), page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }])]);
const click = (selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);
const text = (selector) => page.$eval(selector, (e) => e.innerText);

// look judges the page that is open, in each of the ways in which it may be seen.
async function look(name) {
  for (const [size, scheme] of [[phone, "dark"], [desk, "light"]]) {
    await looks(size, scheme);
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run());
    for (const v of found.violations.filter((v) => v.impact === "serious" || v.impact === "critical")) {
      seen.findings.push(`${name}, ${scheme}: ${v.id} at ${v.nodes.map((n) => n.target).join(" ")}`);
    }
    const beside = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (beside > 0) seen.wide.push(`${name} at ${size.width}: ${beside} pixels`);
    seen.plots.push(...await page.$$eval(".plot", plotted, `${name} at ${size.width}`));
  }
  seen.ran ||= await page.evaluate(() => Boolean(globalThis.ran));
  seen.scripts += await page.$$eval("script", (all) => all.length);
}

// plotted measures curves as they are drawn, in the page: how far they reach beyond their plot, and which part of it they fill.
function plotted(plots, name) {
  return plots.map((plot) => {
    const room = plot.getBoundingClientRect(), lines = [...plot.querySelectorAll("polyline")].map((l) => l.getBoundingClientRect());
    const left = Math.min(...lines.map((l) => l.left)), right = Math.max(...lines.map((l) => l.right));
    const top = Math.min(...lines.map((l) => l.top)), bottom = Math.max(...lines.map((l) => l.bottom));
    return {
      name: `${name}: ${plot.getAttribute("aria-label")}`, lines: lines.length, fills: (right - left) / room.width, rises: (bottom - top) / room.height,
      beyond: Math.max(room.left - left, right - room.right, room.top - top, bottom - room.bottom),
    };
  });
}

// shot keeps a picture of the page that is open, from its top to at most a height.
async function shot(name, size, scheme, high) {
  if (!given.shots) return;
  await looks(size, scheme);
  const height = await page.evaluate(() => Math.ceil(document.body.getBoundingClientRect().bottom + scrollY));
  await page.screenshot({ path: `${given.shots}/console-${name}.png`, clip: { x: 0, y: 0, width: size.width, height: Math.min(height, high) } });
}
const open = (path, ...pairs) => page.goto(`${given.base}/console/${path}?${new URLSearchParams(pairs)}`);
const user = ["user", given.user], session = ["session", given.session];

async function ask() {
  await open("context", user, session);
  await page.type("#query", "What may I eat?");
  await page.select("#profile", "default");
  await page.select("#beside", "chat");
  await page.type("#budget", "600");
  await click("button.main");
}

async function lookAtAll(language) {
  for (const [name, ...more] of [
    ["users"], ["sessions"], ["transcript", session], ["transcript", ["session", "script"]], ["facts", ["past", "yes"]], ["summaries"], ["jobs", ["state", "JOB_STATE_APPLIED"]], ["nowhere"],
  ]) {
    await open(name, user, ...more);
    await look(`${name}, ${language}`);
  }
  await open("facts", user);
  await page.type("#query", "food");
  await click('form[role="search"] button');
  await look(`facts found, ${language}`);
  await click("tbody a");
  await look(`fact, ${language}`);
  await open("sessions", user);
  await page.type("#query", "vegan");
  await click('form[role="search"] button');
  await look(`search, ${language}`);
  await ask();
  await look(`context, ${language}`);
}

try {
  await looks(desk, "light");
  await open("transcript", user, session);
  seen.texts.login = await text("h1");
  await look("login");
  await page.keyboard.press("Tab"); // the field has the focus: what follows it is the button
  seen.texts.afterKey = await page.evaluate(() => document.activeElement.innerText);
  await page.type("#key", given.key);
  await click("button.main");
  seen.texts.arrived = new URL(page.url()).pathname;
  seen.texts.places = await text("header nav");
  await shot("transcript", desk, "light", 800);

  await page.goto(page.url()); // by keyboard: the first stop leads past the navigation
  await page.keyboard.press("Tab");
  seen.texts.first = await page.evaluate(() => document.activeElement.className);
  await page.keyboard.press("Enter");
  seen.texts.skipped = await page.evaluate(() => document.activeElement.id);

  await click('button[value="hide"]');
  seen.texts.hidden = await text('[role="status"]');
  await click('button[value="show"]');
  seen.texts.shown = await text('[role="status"]');
  seen.texts.still = await text(":target");

  await open("sessions", user);
  await page.type("#query", "vegan");
  await click('form[role="search"] button');
  seen.texts.found = await text("ol.transcript");
  await click("ol.transcript a"); // what was found is shown among what was said around it
  seen.texts.among = await text(":target");

  await open("facts", user);
  await click('xpath///tbody//a[contains(., "tomatoes")]');
  await click('button[value="pin"]');
  seen.texts.pinned = await text('[role="status"]');
  await page.click(".actions details:first-of-type summary");
  await page.$eval("#text", (e) => { e.value = ""; });
  await page.type("#text", "Wants to plant tomatoes in May.");
  await look("fact that is edited");
  await click('button[value="edit"]');
  seen.texts.edited = await text("h1");
  await click('button[value="restore"]');
  seen.texts.restored = await text('[role="status"]');
  await shot("fact", desk, "light", 800);
  await click("ul.evidence a");
  seen.texts.evidence = await text(":target");

  await ask();
  seen.texts.built = await text(".beside");
  await shot("context", desk, "light", 800);
  await lookAtAll("English");
  await click('button[value="ko"]');
  seen.texts.korean = await text("h1");
  await lookAtAll("Korean");
  await shot("phone", phone, "dark", 1100);
  await click('form[action="/console/logout"] button');
  seen.texts.left = await page.$eval("html", (e) => e.lang);
  await open("facts", user);
  seen.texts.after = new URL(page.url()).pathname;

  const job = (session, value) => `xpath///tr[contains(., "${session}")]//button[@value="${value}"]`;
  const jobs = () => page.goto(`${given.parked}/console/jobs`);
  for (const language of ["ko", "en"]) {
    await jobs();
    await click(`button[value="${language}"]`);
    await look(`parked jobs, ${language}`);
    await page.goto(given.metrics);
    await look(`metrics, ${language}`);
  }
  await shot("metrics", desk, "light", 800);
  await jobs();
  seen.texts.parked = await text("table");
  await shot("jobs", desk, "light", 800);
  await looks(phone, "dark"); // with a finger: the buttons are in reach
  await click(job("rome", "retry"));
  seen.texts.retried = await text('[role="status"]');
  await click(job("oslo", "skip"));
  seen.texts.skippedJob = await text('[role="status"]');
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
