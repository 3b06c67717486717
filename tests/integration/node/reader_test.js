// The JavaScript reader in Debian's Chromium. Told by the environment: SITE, which has the reader, the files of filters
// that FILTERS names, their answers, and the items.
import assert from 'node:assert/strict';
import test from 'node:test';
import { chromium } from 'playwright-core';

const { SITE, FILTERS } = process.env;
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});
test.after(() => browser.close());

test('answers as the server does', async () => {
  const page = await browser.newPage();
  await page.goto(`${SITE}/bitsieve.mjs`); // a small page of the same site
  for (const name of FILTERS.split(' ')) {
    const [answers, expected] = await page.evaluate(async (filterName) => {
      const { Filter } = await import('/bitsieve.mjs');
      const filter = Filter.fromBytes(await (await fetch(`/${filterName}`)).arrayBuffer());
      filter.verify();
      const items = (await (await fetch('/items')).text()).split('\n');
      const found = filter.mayContainMany(items).map(Number).join('');
      return [found, await (await fetch(`/${filterName}.answers`)).text()];
    }, name);
    assert.ok(expected.length >= 100_000);
    assert.ok(answers === expected, name);
  }
});
