// examples/password_page in Debian's Chromium. Told by the environment: PORT, ADMIN_PORT, SITE (which has the page).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { chromium } from 'playwright-core';
import { createClient } from 'redis';

const { PORT, ADMIN_PORT, SITE } = process.env;
const filterUrl = `http://127.0.0.1:${ADMIN_PORT}/filters/passwords`;
const PATIENCE_MS = 30_000;
const KNOWN = 'correct horse battery staple', OTHER = 'größe 4711 of Tr0ub4dor&3';

const client = createClient({ url: `redis://127.0.0.1:${PORT}` });
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});
await client.connect();
test.after(async () => {
  await browser.close();
  await client.close();
});

async function freeze(name, passwords) {
  await client.sendCommand(['BF.RESERVE', name, '1e-6', '10000', 'TYPE', 'ribbon']);
  await client.sendCommand(['BF.MADD', name, ...passwords, ...Array.from({ length: 1000 }, (_, i) => `password ${i}`)]);
  await client.sendCommand(['BF.FREEZE', name]);
  const end = Date.now() + PATIENCE_MS;
  const state = async () => JSON.stringify(await client.sendCommand(['BF.INFO', name, 'STATE']));
  while (!(await state()).includes('frozen')) assert.ok(Date.now() < end);
}

// The page, and all requests that it makes: the URL, the headers and the body.
async function open(query = '') {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const requests = [];
  page.on('request', request => requests.push([request.url(), JSON.stringify(request.headers()), request.postData()]));
  await page.goto(SITE + '/' + query);
  return { page, requests };
}

const verdict = (page, part) =>
  page.waitForFunction(text => document.querySelector('#verdict').value.includes(text), part);

test('knows the passwords without telling them', async () => {
  await freeze('passwords', [KNOWN]);
  const { page, requests } = await open('?interval=50');
  await verdict(page, 'not sent anywhere');
  await page.fill('#password', KNOWN);
  await verdict(page, 'known to others');
  await page.fill('#password', OTHER);
  await verdict(page, 'not on the list');
  await freeze('next', [KNOWN, OTHER]);
  await client.sendCommand(['RENAME', 'next', 'passwords']);
  const end = Date.now() + PATIENCE_MS;
  while (requests.filter(([url]) => url === filterUrl).length < 2) {
    assert.ok(Date.now() < end, 'the new list is loaded');
    await page.waitForTimeout(10);
  }
  const isKnown = async () => {
    await page.fill('#password', '');
    await page.fill('#password', OTHER);
    return (await page.textContent('#verdict')).includes('known to others');
  };
  while (!(await isKnown())) assert.ok(Date.now() < end, 'the new list is used');

  const urls = [...new Set(requests.map(([url]) => url.replace(/since=.*/, 'since=')))];
  const files = ['?interval=50', 'password_page.mjs', 'bitsieve.mjs', 'follow.mjs', 'xxh3.mjs'];
  const own = files.map(path => `${SITE}/${path}`);
  assert.deepEqual(urls.sort(), [...own, filterUrl, `${filterUrl}/changes?since=`].sort());
  const sent = requests.flat().join('\n');
  for (const password of [KNOWN, OTHER]) {
    const forms = [password, encodeURIComponent(password), password.replaceAll(' ', '+'), password.slice(0, 8),
      btoa(unescape(encodeURIComponent(password))),
      ...['md5', 'sha1', 'sha256'].map(name => createHash(name).update(password).digest('hex').slice(0, 5))];
    for (const form of forms) assert.ok(!sent.includes(form), form);
  }
  await page.close();
});

test('says if it may not read the list', async () => {
  await client.sendCommand(['CONFIG', 'SET', 'admin-filters-origin', 'https://example.com']);
  const { page } = await open();
  await verdict(page, 'could not be loaded');
  await client.sendCommand(['CONFIG', 'SET', 'admin-filters-origin', SITE]);
  await page.close();
});
