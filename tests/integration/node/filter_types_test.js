// Every type of filter through the calls that npm's `redis` has for Bloom filters. Told by the environment: PORT,
// FILTER_TYPES (names, with commas between), and OPTIONS_name, what BF.RESERVE needs besides the type.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createClient } from 'redis';

const url = `redis://127.0.0.1:${process.env.PORT}`;
const types = process.env.FILTER_TYPES.split(',');

for (const RESP of [2, 3]) {
  for (const type of types) {
    test(`${type} in RESP ${RESP}`, async t => {
      const client = createClient({ url, RESP, socket: { reconnectStrategy: false } });
      client.on('error', error => assert.fail(error));
      await client.connect();
      t.after(() => client.close());
      await client.flushAll();
      const options = (process.env[`OPTIONS_${type}`] ?? '').split(' ').filter(Boolean);
      await client.sendCommand(['BF.RESERVE', 'k', '0.001', '1000', 'TYPE', type, ...options]);

      assert.equal(await client.bf.add('k', 'foo'), true);
      assert.equal(await client.bf.add('k', 'foo'), false);
      assert.equal(await client.bf.exists('k', 'foo'), true);
      assert.equal(await client.bf.exists('k', 'bar'), false);
      assert.deepEqual(await client.bf.mAdd('k', ['foo', 'bar', '']), [false, true, true]);
      assert.deepEqual(await client.bf.mExists('k', ['foo', 'no', '']), [true, false, true]);
      assert.deepEqual(await client.bf.insert('k', ['foo', 'baz'], { NOCREATE: true }), [false, true]);
      await assert.rejects(client.bf.reserve('k', 0.01, 1000), /ERR item exists/);

      const items = Array.from({ length: 300 }, (_, i) => `item:${i}`);
      await Promise.all(items.map(item => client.bf.add('k', item)));
      assert.ok((await client.bf.mExists('k', items)).every(Boolean));
      if (type === 'valkeybloom') return;  // its fields are those of valkey-bloom, which bf.info() does not read
      const info = await client.bf.info('k');
      assert.equal(Object.keys(info).length, 5);
      assert.equal(Object.values(await client.sendCommand(['BF.INFO', 'k', 'TYPE'])).at(-1), type);
      assert.ok(info['Capacity'] >= 1000);
      assert.ok(info['Size'] > 0);
      assert.equal(info['Number of items inserted'], await client.bf.card('k'));
    });
  }
}
