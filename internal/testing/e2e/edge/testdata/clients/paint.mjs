// Opens each page RUNS times, each time in a browser context of its own that has nothing of it, and prints the milliseconds to the first
// contentful paint, the median of each page.
import puppeteer from "puppeteer-core";

const given = JSON.parse(process.env.STRATA_CONSOLE); // pages: name to address; runs
const browser = await puppeteer.launch({
  executablePath: process.env.STRATA_CHROMIUM, headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
});
const paint = async (address) => {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.goto(address);
  const took = await page.evaluate(() => new Promise((done) => {
    new PerformanceObserver((list) => list.getEntriesByName("first-contentful-paint").forEach((e) => done(e.startTime)))
      .observe({ type: "paint", buffered: true });
  }));
  await context.close();
  return took;
};
try {
  const medians = {};
  for (const [name, address] of Object.entries(given.pages)) {
    const took = [];
    for (let i = 0; i < given.runs; i++) took.push(await paint(address));
    medians[name] = took.sort((a, b) => a - b)[Math.floor(took.length / 2)];
  }
  console.log(JSON.stringify(medians));
} finally {
  await browser.close();
}
