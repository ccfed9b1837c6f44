// Uses the console as a person does: types, clicks, and looks at each page in light and dark, on a desk and on a phone, with axe-core.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const given = JSON.parse(process.env.STRATA_CONSOLE); // base, key, user, session; shots, a folder, or ""
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const browser = await puppeteer.launch({
  executablePath: process.env.STRATA_CHROMIUM, headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--lang=en"],
});
const seen = { findings: [], wide: [], texts: {}, ran: false, scripts: 0 };
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
  }
  seen.ran ||= await page.evaluate(() => Boolean(globalThis.ran));
  seen.scripts += await page.$$eval("script", (all) => all.length);
}
const shot = (name) => given.shots && page.screenshot({ path: `${given.shots}/console-${name}.png` });
const open = (path, ...pairs) => page.goto(`${given.base}/console/${path}?${new URLSearchParams(pairs)}`);
const user = ["user", given.user], session = ["session", given.session];

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
  await look("transcript");
  await shot("transcript");

  await page.goto(page.url()); // by keyboard: the first stop leads past the navigation
  await page.keyboard.press("Tab");
  seen.texts.first = await page.evaluate(() => document.activeElement.className);
  await page.keyboard.press("Enter");
  seen.texts.skipped = await page.evaluate(() => document.activeElement.id);

  await click('button[value="hide"]');
  seen.texts.hidden = await text('[role="status"]');
  await click('button[value="show"]');
  seen.texts.shown = await text('[role="status"]');

  for (const name of ["users", "sessions", "summaries", "jobs"]) {
    await open(name, user, ["state", "JOB_STATE_APPLIED"]);
    await look(name);
  }
  await open("sessions", user);
  await page.type("#query", "vegan");
  await click('form[role="search"] button');
  seen.texts.found = await text("ol.transcript");
  await look("search");

  await open("facts", user);
  await look("facts");
  await click("tbody a");
  await click('button[value="pin"]');
  seen.texts.pinned = await text('[role="status"]');
  await page.click(".actions details:first-of-type summary");
  await page.$eval("#text", (e) => { e.value = ""; });
  await page.type("#text", "Eats no meat.");
  await look("fact");
  await click('button[value="edit"]');
  seen.texts.edited = await text("h1");
  await click('button[value="restore"]');
  seen.texts.restored = await text('[role="status"]');
  await shot("fact");

  await open("context", user, session);
  await page.type("#query", "What may I eat?");
  await page.select("#profile", "default");
  await page.select("#beside", "chat");
  await page.type("#budget", "600");
  await click("button.main");
  seen.texts.built = await text(".beside");
  await look("context");
  await shot("context");

  await click('button[value="ko"]');
  seen.texts.korean = await text("h1");
  await open("facts", user);
  await look("facts in Korean");
  await click('form[action="/console/logout"] button');
  seen.texts.left = await page.$eval("html", (e) => e.lang);
  await open("facts", user);
  seen.texts.after = new URL(page.url()).pathname;
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
