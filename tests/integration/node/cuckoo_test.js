// npm's `redis`, through its own API for cuckoo filters. Told by the environment: PORT.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createClient, RESP_TYPES } from 'redis';

const url = `redis://127.0.0.1:${process.env.PORT}`;
const versions = { 'as it is by default': {}, 'in RESP 2': { RESP: 2 }, 'in RESP 3': { RESP: 3 } };

for (const [how, options] of Object.entries(versions)) {
  test(`cuckoo commands ${how}`, async t => {
    const client = createClient({ url, socket: { reconnectStrategy: false }, ...options });
    client.on('error', error => assert.fail(error));
    await client.connect();
    t.after(() => client.close());
    await client.flushAll();

    assert.equal(await client.cf.reserve('k', 1000, { BUCKETSIZE: 4, MAXITERATIONS: 100, EXPANSION: 2 }), 'OK');
    assert.equal(await client.cf.add('k', 'foo'), true);
    assert.equal(await client.cf.addNX('k', 'foo'), false);
    assert.equal(await client.cf.addNX('k', 'bar'), true);
    assert.deepEqual(await client.cf.insert('k', ['a', 'b', 'a']), [true, true, true]);
    assert.deepEqual(await client.cf.insertNX('k', ['a', 'c']), [0, 1]);
    assert.deepEqual(await client.cf.insert('made', ['a'], { CAPACITY: 5000, NOCREATE: false }), [true]);
    await assert.rejects(client.cf.insert('none', ['a'], { NOCREATE: true }), /ERR not found/);
    assert.equal(await client.cf.exists('k', 'foo'), true);
    assert.equal(await client.cf.exists('k', 'none'), false);
    assert.equal(await client.cf.count('k', 'a'), 2);
    assert.equal(await client.cf.del('k', 'a'), true);
    assert.equal(await client.cf.del('k', 'none'), false);
    const info = await client.cf.info('k');
    assert.deepEqual({ ...info }, {
      'Size': 1080, 'Number of buckets': 256, 'Number of filters': 1, 'Number of items inserted': 5,
      'Number of items deleted': 1, 'Bucket size': 4, 'Expansion rate': 2, 'Max iterations': 100,
    });
    await assert.rejects(client.cf.info('none'), /ERR not found/);
    await assert.rejects(client.cf.reserve('k', 1000), /ERR item exists/);

    const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    for (let iterator = 0;;) {
      const { iterator: next, chunk } = await binary.cf.scanDump('k', iterator);
      if (chunk === null) break;
      assert.equal(await client.cf.exists('copy', 'foo'), false);
      assert.equal(await client.cf.loadChunk('copy', next, chunk), 'OK');
      iterator = next;
    }
    assert.deepEqual({ ...await client.cf.info('copy') }, { ...info });
    assert.equal(await client.cf.exists('copy', 'foo'), true);
    assert.equal(await client.type('copy'), 'MBbloomCF');
  });
}
