// The dashboard in Debian's Chromium. Told by the environment: PORT, ADMIN_PORT, SCREENSHOTS (a folder).
import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import test from 'node:test';
import { chromium } from 'playwright-core';
import { createClient } from 'redis';

const { PORT, ADMIN_PORT, SCREENSHOTS } = process.env;
const address = `http://127.0.0.1:${ADMIN_PORT}`;
const HOSTILE = Buffer.from('<img src=x onerror="document.title=1">"\'&\xff\x00\n', 'latin1');
const PATIENCE_MS = 30_000;

const client = createClient({ url: `redis://127.0.0.1:${PORT}` });
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});
await client.connect();
await fill();
test.after(async () => {
  await browser.close();
  await client.close();
});

async function fill() {
  await client.flushAll();
  for (let i = 0; i < 60; ++i) {
    await client.bf.reserve(`users:${String(i).padStart(2, '0')}`, 0.01, 100 * (i + 1));
    await client.bf.mAdd(`users:${String(i).padStart(2, '0')}`, Array.from({ length: i + 1 }, (_, item) => `${item}`));
  }
  await client.bf.reserve('nearly:full', 0.001, 1000, { NONSCALING: true });
  await client.bf.reserve(`${'long:'.repeat(20)}name`, 0.01, 100_000_000);
  await client.bf.mAdd('nearly:full', Array.from({ length: 960 }, (_, item) => `${item}`));
  await client.sendCommand(['BF.ADD', HOSTILE, 'x']);
}

// A page without errors that asks nobody else. `missing`: where the server answers 404.
async function open(t, path = '/', options = {}, missing = '') {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const wrong = [];
  page.on('console', message => missing && / 404 /.test(message.text()) || wrong.push(`console: ${message.text()}`));
  page.on('pageerror', error => wrong.push(`error: ${error}`));
  page.on('request', request => request.url().startsWith(address) || wrong.push(`elsewhere: ${request.url()}`));
  page.on('response', response => response.ok() || response.url() === address + missing ||
    wrong.push(`${response.status()}: ${response.url()}`));
  t.after(async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  });
  await page.goto(address + path);
  return page;
}

const rows = page => page.locator('#filters tbody tr');
const names = page => page.locator('#filters tbody th').allTextContents();
const shot = (page, name) => page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
const shows = (page, check, argument) => page.waitForFunction(check, argument, { timeout: PATIENCE_MS });
const range = (page, text) => shows(page, wanted => document.querySelector('#range').textContent === wanted, text);

async function info() {
  const lines = (await client.info()).split('\r\n').filter(line => line.includes(':'));
  return Object.fromEntries(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

test('figures equal those of INFO', async t => {
  const page = await open(t);
  await page.locator('#info summary').click();
  const known = await info();
  for (const field of ['bitsieve_version', 'used_memory', 'keyspace_hits', 'items_added', 'maxclients']) {
    await shows(page, ([name, value]) => [...document.querySelectorAll('#info tr')].some(
      row => row.cells[0].textContent === name && row.cells[1].textContent === value), [field, known[field]]);
  }
  await shows(page, () => document.querySelector('[data-tile=filters] dd')?.textContent === '63');
  assert.equal(await page.locator('[data-tile=memory] dd').first().getAttribute('title'),
               `${Number(known.used_memory).toLocaleString('en')} bytes`);
  assert.equal(await page.locator('#state').textContent(), 'ready');
});

test('the table is sorted, searched and paged by the server', async t => {
  const page = await open(t);
  await range(page, '1–25 of 63');
  await page.getByRole('button', { name: 'Name' }).click();
  await shows(page, () => document.querySelector('th[aria-sort=ascending]')?.textContent === 'Name');
  await shows(page, () => document.querySelector('#filters tbody th').textContent.startsWith('<img'));
  await page.getByRole('button', { name: 'Last' }).click();
  await range(page, '51–63 of 63');
  assert.equal((await names(page)).at(-1), 'users:59');
  assert.ok(await page.getByRole('button', { name: 'Next' }).isDisabled());
  await page.getByRole('button', { name: 'Previous' }).click();
  await range(page, '26–50 of 63');

  await page.getByLabel('Search names').fill('users:1');
  await range(page, '1–10 of 10');
  assert.deepEqual(await names(page), Array.from({ length: 10 }, (_, i) => `users:1${i}`));
  await page.getByLabel('Search names').fill('users:?[05]');
  await range(page, '1–12 of 12');
  await page.getByRole('button', { name: 'Items' }).click();
  await shows(page, () => document.querySelector('#filters tbody th').textContent === 'users:55');
  assert.equal(await page.locator('th[aria-sort]').getAttribute('aria-sort'), 'descending');
  const cells = await rows(page).first().locator('td').allTextContents();
  assert.deepEqual(cells.slice(0, 5), ['blocked', '56', '5,600', '1.00%', '1%']);
  await page.reload();
  await range(page, '1–12 of 12');
  await page.getByLabel('Search names').fill('nothing like that');
  await range(page, 'No name matches');
});

test('names are shown, not run', async t => {
  const page = await open(t, '/?sort=name&order=asc');
  await range(page, '1–25 of 63');
  const shown = String.raw`<img src=x onerror="document.title=1">"'&\xff\x00\x0a`;
  assert.equal((await names(page))[0], shown);
  assert.equal(await page.locator('#filters img').count(), 0);
  await rows(page).first().getByRole('link').click();
  await shows(page, name => document.querySelector('#filter-name').textContent === name, shown);
  assert.equal(await page.title(), `${shown} – Bitsieve`);
  assert.equal(await page.locator('[data-tile=items] dd').first().textContent(), '1');
});

test('the page of a filter has the figures of BF.INFO', async t => {
  const page = await open(t, '/?filter=nearly%3Afull');
  await page.locator('#fields tr').first().waitFor();
  const known = await client.sendCommand(['BF.INFO', 'nearly:full', 'FULL']);
  const shown = Object.fromEntries(await page.locator('#fields tr').evaluateAll(
    found => found.map(row => [row.cells[0].textContent, row.cells[1].textContent])));
  for (let i = 0; i < known.length; i += 2) {
    const [label, value] = [known[i], known[i + 1]];
    assert.ok(label in shown, label);
    if (value === null || Number.isNaN(Number(value))) continue;
    if (label === 'Last use') assert.equal(Date.parse(shown[label]) / 1000, Number(value));
    else assert.equal(Number(shown[label]), Number(value), label);
  }
  const items = Number(shown['Number of items inserted']);  // false positives are not counted
  const fill = `${(items / 10).toFixed(1)}%`;
  assert.equal(await page.locator('[data-tile=fill] dd').first().textContent(), fill);
  const spoken = await page.locator('#curve .plot').getAttribute('aria-label');
  assert.ok(spoken.includes(`at ${fill} of the capacity, ${items} of 1,000`), spoken);
  assert.equal(await page.locator('[data-tile=fill] dt').textContent(), 'Capacity used');
  const notes = await page.locator('#fields .note').allTextContents();
  assert.ok(notes.some(note => /^share of bits or slots in use/.test(note)), 'the fill ratio is another one');
  assert.ok(await page.locator('#curve svg .line').first().isVisible());
  assert.equal(await page.locator('#curve svg .mark').count(), 1);
  await page.locator('#curve summary').click();
  assert.ok(await page.locator('#curve tbody tr').count() > 20, 'the curve as a table');
  await shot(page, 'filter');
});

for (const bits of ['4', '8']) {
  test(`a filter whose items expire shows when, with epochs of ${bits} bits`, async t => {
    t.after(() => client.sendCommand(['DEL', 'timed']));
    const options = ['TYPE', 'expiring', 'TTL', '14h', 'EPOCHBITS', bits];
    await client.sendCommand(['BF.RESERVE', 'timed', '0.000001', '1000', ...options]);
    await client.sendCommand(['BF.INSERT', 'timed', 'EX', '7200', 'ITEMS', 'a', 'b', 'c']);
    await client.sendCommand(['BF.INSERT', 'timed', 'EX', '46800', 'ITEMS', 'd']);
    const page = await open(t, '/?filter=timed');
    await page.locator('#expiry svg .area').first().waitFor();
    const bars = await page.locator('#expiry tbody tr').evaluateAll(
      found => found.map(row => [row.cells[0].textContent, Number(row.cells[1].textContent)]));
    assert.equal(bars.length, bits === '4' ? 15 : 42);
    assert.deepEqual(bars.filter(([, items]) => items !== 0).map(([, items]) => items), [3, 1]);
    const spoken = await page.locator('#expiry .plot').getAttribute('aria-label');
    assert.match(spoken, /4 items\. The first 3 expire within [23] h/);
    assert.match(await page.locator('#expiry .key').textContent(), bits === '4' ? /each epoch/ : /for 6 epochs/);
    await shot(page, `expiry${bits}`);
    await page.goto(page.url().replace('timed', 'nearly%3Afull'));
    await page.locator('#fields tr').first().waitFor();
    assert.equal(await page.locator('#expiry-section').isVisible(), false);
  });
}

test('everything can be done by keyboard', async t => {
  const page = await open(t);
  await range(page, '1–25 of 63');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the figures');
  await page.keyboard.press('Enter');
  const visited = [];
  for (let i = 0; i < 60 && visited.at(-1) !== 'nearly:full'; ++i) {
    await page.keyboard.press('Tab');
    visited.push(await page.evaluate(() => document.activeElement.textContent || document.activeElement.id));
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, 'none', visited.at(-1));
    if (visited.at(-1) === 'Used') {
      await page.keyboard.press('Enter');
      await shows(page, () => document.querySelector('#filters tbody th').textContent === 'nearly:full');
    }
  }
  for (const stop of ['search', 'Name', 'Used', 'Memory', 'nearly:full']) assert.ok(visited.includes(stop), stop);
  await page.keyboard.press('Enter');
  await shows(page, () => document.querySelector('#filter-name').textContent === 'nearly:full');
});

test('it can be read without seeing it', async t => {
  const page = await open(t);
  await range(page, '1–25 of 63');
  await shows(page, () => /commands: now/.test(document.querySelector('#charts .plot').getAttribute('aria-label')));
  const named = 'a, button, input, img, [role=img], [role=region]';
  const nameless = await page.evaluate(selector => [...document.querySelectorAll(selector)]
    .filter(found => !(found.textContent || found.getAttribute('aria-label') || found.getAttribute('aria-labelledby') ||
                       found.labels?.length || found.alt !== undefined)).map(found => found.outerHTML), named);
  assert.deepEqual(nameless, []);
  assert.equal(await page.getByRole('columnheader').count() >= 10, true);
  assert.equal(await page.getByRole('rowheader').count() >= 25, true);
  assert.equal(await page.locator('h1').count(), 2);
  await page.locator('#charts summary').first().click();
  assert.match(await page.locator('#charts tbody tr').first().textContent(), /^\d\d:\d\d:\d\d.*\/s/);
});

test('each chart has a scale that fits its lines', async t => {
  const page = await open(t);
  await page.locator('#charts svg .line').first().waitFor();
  const titles = await page.locator('#charts figcaption strong').allTextContents();
  assert.deepEqual(titles, ['Commands', 'Items added', 'Items looked up', 'Latency', 'Memory', 'Hit rate']);
  const plot = page.locator('#charts .plot').first();
  const key = page.locator('#charts .key').first();
  const now = await key.textContent();
  const area = await plot.boundingBox();
  await plot.hover({ position: { x: area.width / 2, y: 60 } });
  assert.equal(await plot.locator('.cursor circle').count(), 1);
  const inTable = await page.locator('#charts figure').first().locator('tbody td:last-child').allTextContents();
  assert.ok(inTable.includes((await key.textContent()).split(' ').at(-1)), 'the values under the cursor');
  await page.mouse.move(0, 0);
  await shows(page, text => document.querySelector('#charts .key').textContent === text, now);
});

test('a filter that does not exist is no trouble of the server', async t => {
  const page = await open(t, '/?filter=gone%3Aaway', {}, '/api/filter?name=gone%3Aaway');
  await page.getByText('There is no filter of this name.').waitFor();
  assert.equal(await page.locator('#filter-name').textContent(), 'gone:away');
  assert.ok(await page.locator('#filter-figures').isHidden());
  assert.ok(await page.locator('#trouble').isHidden());
  await shows(page, () => document.querySelector('#state').textContent === 'ready');
  await client.bf.add('gone:away', 'x');
  await page.locator('#fields tr').first().waitFor();
  assert.ok(await page.locator('#no-filter').isHidden());
  await client.del('gone:away');
});

for (const path of ['/', '/?filter=nearly%3Afull']) {
  test(`a server that is frozen is seen to be: ${path}`, async t => {
    const page = await open(t, path);
    await shows(page, () => document.querySelector('#state').textContent === 'ready');
    const process_id = Number((await info()).process_id);
    process.kill(process_id, 'SIGSTOP');
    try {
      await shows(page, () => document.querySelector('#state').textContent === 'no answer');
      await shows(page, () => /does not answer. The figures are those of \d\d:/.test(
        document.querySelector('#trouble').textContent));
      assert.equal(await page.locator('#main').getAttribute('class'), 'old');
      await shot(page, `frozen-${path.length}`);
    } finally {
      process.kill(process_id, 'SIGCONT');
    }
    await shows(page, () => document.querySelector('#state').textContent === 'ready');
    await page.locator('#trouble').waitFor({ state: 'hidden' });
    assert.equal(await page.locator('#main').getAttribute('class'), '');
  });
}

for (const [name, options] of Object.entries({
  light: {},
  wide: { viewport: { width: 1440, height: 900 } },
  dark: { colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 } },
})) {
  test(`it fits and is legible: ${name}`, async t => {
    const page = await open(t, '/', options);
    await range(page, '1–25 of 63');
    await page.locator('#charts svg .line').first().waitFor();
    for (const part of ['html', '#filters-region', '#charts figure']) {
      const [width, room] = await page.locator(part).first().evaluate(found => [found.scrollWidth, found.clientWidth]);
      assert.ok(width <= room, `${part}: ${width} wide, there is room for ${room}`);
    }
    const [text, back] = await page.evaluate(() => {
      const { color, backgroundColor } = getComputedStyle(document.body);
      const brightness = rgb => rgb.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
      return [color, backgroundColor].map(brightness);
    });
    assert.equal(back > text, name !== 'dark', 'dark on light, unless dark is preferred');
    assert.ok(Math.abs(back - text) > 400, 'contrast');
    await shot(page, name);
  });
}

test('an empty server shows the command that makes a filter', async t => {
  await client.flushAll();
  const page = await open(t);
  const command = page.locator('#first-add');
  await command.waitFor();
  assert.ok(await page.locator('#filters-region').isHidden());
  await shot(page, 'empty');
  execSync(await command.textContent());
  assert.equal(await client.bf.exists('seen', 'alice'), true);
  await range(page, '1–1 of 1');
  assert.ok(await page.locator('#no-filters').isHidden());
});
