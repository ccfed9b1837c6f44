// Chromium: pages of an invited origin, of a foreign one, and of a name that was pointed to the server after its page was loaded.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import puppeteer from "puppeteer-core";

const given = JSON.parse(process.env.STRATA_PAGES); // invited, foreign, server, open, key, user
const script = buildSync({
  entryPoints: [fileURLToPath(new URL("page.mjs", import.meta.url))], bundle: true, format: "iife", write: false,
}).outputFiles[0].text;
const descriptors = readFileSync(process.env.STRATA_DESCRIPTORS).toString("base64");

const browser = await puppeteer.launch({
  executablePath: process.env.STRATA_CHROMIUM, headless: true,
  args: [
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--host-resolver-rules=MAP evil.example 127.0.0.1",
    // what the server refuses is tested, not what this browser might refuse before it
    "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessForNavigations,PrivateNetworkAccessSendPreflights,HttpsUpgrades",
  ],
});
try {
  const seen = {};
  const open = async (url) => {
    const page = await browser.newPage();
    await page.goto(url);
    await page.addScriptTag({ content: script });
    return page;
  };
  const invited = await open(given.invited);
  seen.connect = await invited.evaluate((g) => globalThis.byConnect(g), { base: given.server, descriptors, user: given.user + "-connect", key: given.connectKey });
  seen.rest = await invited.evaluate((g) => globalThis.byREST(g), { base: given.server, user: given.user + "-rest", key: given.restKey });

  const foreign = await open(given.foreign);
  seen.foreign = await foreign.evaluate((g) => globalThis.intrude(g), { base: given.server, user: "intruder" });
  seen.foreignToOpen = await foreign.evaluate((g) => globalThis.intrude(g), { base: given.open, user: "intruder" });
  const [form] = await Promise.all([
    foreign.waitForNavigation(), foreign.evaluate((g) => globalThis.submitForm(g), { base: given.open, user: "intruder" }),
  ]);
  seen.form = form.status();

  // The attacker's name: first it is the attacker's server that serves the page, which then points the name at this machine.
  const rebound = given.open.replace("127.0.0.1", "evil.example");
  const page = await browser.newPage();
  await page.setRequestInterception(true);
  page.on("request", (r) => (r.url() === rebound + "/attack" ? r.respond({ contentType: "text/html", body: "<!doctype html><body></body>" }) : r.continue()));
  await page.goto(rebound + "/attack");
  await page.addScriptTag({ content: script });
  seen.rebound = await page.evaluate((g) => globalThis.intrude(g), { base: "", user: "intruder" });
  const visit = await browser.newPage();
  seen.reboundVisit = (await visit.goto(rebound + "/healthz")).status();
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
