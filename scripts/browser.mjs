// Drives a headless Chromium for scripts/page-check and scripts/screenshots.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDTHS = [360, 1400];
const SCHEMES = ['light', 'dark'];

const [, , act, ...rest] = process.argv;
const root = process.getuid?.() === 0;
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM,
  args: root ? ['--no-sandbox', '--disable-gpu'] : ['--disable-gpu'],
});

/** Opens a file as a reader would, and keeps what it asked for and complained of. */
async function open(file, width, scheme, settle = async () => {}) {
  const page = await browser.newPage();
  const wrong = [];
  page.on('console', (said) => ['error', 'warn'].includes(said.type()) && wrong.push(`console: ${said.text()}`));
  page.on('pageerror', (error) => wrong.push(`script: ${error.message}`));
  page.on('request', (request) => /^(file|data):/.test(request.url()) || wrong.push(`asks for ${request.url()}`));
  await settle(page);
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(pathToFileURL(resolve(file)).href, { waitUntil: 'load' });
  return { page, wrong };
}

async function look(file, width, scheme) {
  const { page, wrong } = await open(file, width, scheme);
  const seen = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth - window.innerWidth,
    figures: document.querySelectorAll('figure').length,
    bare: [...document.querySelectorAll('figure')].filter((figure) => !figure.querySelector('table')).length,
    drawn: [...document.querySelectorAll('svg.plot')].every((plot) => plot.getBoundingClientRect().height > 50),
    controls: document.querySelectorAll('svg.plot').length === document.querySelectorAll('.controls').length,
    back: getComputedStyle(document.body).backgroundColor,
  }));
  if (seen.wide > 0) wrong.push(`scrolls sideways by ${seen.wide} px`);
  if (seen.bare > 0) wrong.push(`${seen.bare} figures have no table`);
  if (!seen.drawn) wrong.push('a figure has no height');
  if (!seen.controls) wrong.push('the script did not run');
  const bright = Number(seen.back.match(/\d+/)[0]) > 127;
  if (bright !== (scheme === 'light')) wrong.push(`is ${seen.back} where ${scheme} is asked for`);
  await page.close();
  return { wrong, figures: seen.figures };
}

/** Everything unfolded, as a reader finds it after some clicks. The page's own policy would keep axe out. */
async function judge(file, width, scheme) {
  const { page } = await open(file, width, scheme, (page) => page.setBypassCSP(true));
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    document.querySelectorAll('details').forEach((one) => { one.open = true; });
    const { violations, passes } = await window.axe.run();
    return { violations: violations.map((v) => `${v.id} (${v.nodes.length}): ${v.help}: ${v.nodes[0].html}`), passes: passes.length };
  });
  await page.close();
  return found;
}

/** Readable without its script. */
async function unscripted(file) {
  const { page, wrong } = await open(file, 1400, 'light', (page) => page.setJavaScriptEnabled(false));
  const text = await page.$eval('main', (main) => main.textContent.length);
  if (text < 200) wrong.push('says nothing without its script');
  await page.close();
  return wrong;
}

async function check(files) {
  let failed = 0;
  for (const file of files) {
    const wrong = await unscripted(file);
    let [figures, passes] = [0, 0];
    for (const width of WIDTHS) {
      for (const scheme of SCHEMES) {
        const [seen, judged] = [await look(file, width, scheme), await judge(file, width, scheme)];
        const at = (text) => `${width} px, ${scheme}: ${text}`;
        wrong.push(...seen.wrong.map(at), ...judged.violations.map((one) => at(`axe: ${one}`)));
        [figures, passes] = [seen.figures, passes + judged.passes];
      }
    }
    const size = Math.ceil(readFileSync(file).length / 1024);
    console.log(`${file}: ${size} KiB, ${figures} figures, ${passes} rules of axe-core held, ${wrong.length} wrong`);
    [...new Set(wrong)].forEach((one) => console.log(`  ${one}`));
    failed += wrong.length;
  }
  return failed === 0 ? 0 : 1;
}

async function shoot([file, folder]) {
  for (const scheme of SCHEMES) {
    const { page } = await open(file, 1200, scheme);
    await page.setViewport({ width: 1200, height: 1000 });
    await page.screenshot({ path: `${folder}/report-${scheme}.png` });
    await page.close();
  }
  const { page } = await open(file, 1200, 'light');
  const figures = await page.$('#distributions');
  await figures.evaluate((heading) => heading.scrollIntoView());
  await page.screenshot({ path: `${folder}/report-distributions.png` });
  return 0;
}

const code = act === 'shoot' ? await shoot(rest) : await check(rest);
await browser.close();
process.exit(code);
