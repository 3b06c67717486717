// A cache that keeps only pages that are requested twice. Most pages are requested only once, and would displace pages
// that are worth keeping; a filter remembers the first requests in ten bits each.
//
//     ./scripts/serve &
//     npm install redis
//     node examples/cache_guard.mjs redis://127.0.0.1:7379

import {createClient} from 'redis';

const client = createClient({url: process.argv[2] ?? 'redis://127.0.0.1:7379'});
await client.connect();
// Remembers the last 100,000 different requests, and forgets older ones by itself.
await client.sendCommand(['BF.RESERVE', 'requested', '0.01', '100000', 'TYPE', 'window', 'WINDOW', '100000', 'IFNOTEXISTS']);

const cache = new Map();
const counts = {requests: 0, hits: 0, rendered: 0};

async function page(path) {
  ++counts.requests;
  const kept = cache.get(path);
  if (kept !== undefined) {
    ++counts.hits;
    return kept;
  }
  ++counts.rendered;
  const rendered = `<h1>${path}</h1>`;
  const isFirst = Number(await client.sendCommand(['BF.ADD', 'requested', path])) === 1;
  if (!isFirst) cache.set(path, rendered);
  return rendered;
}

// 20 popular pages, and 2,000 that are requested once.
for (let i = 0; i < 2000; ++i) {
  await page(`/popular/${i % 20}`);
  await page(`/once/${i}`);
}
console.log(`${counts.requests} requests, ${counts.hits} from the cache of ${cache.size} pages`);
await client.close();
