// npm's `redis`, through its own API for Bloom filters. Told by the environment: PORT.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createClient, RESP_TYPES, WatchError } from 'redis';

const url = `redis://127.0.0.1:${process.env.PORT}`;

async function connected(t, options = {}) {
  const client = createClient({ url, socket: { reconnectStrategy: false }, ...options });
  const errors = [];
  client.on('error', error => errors.push(error));
  await client.connect();
  t.after(async () => {
    if (client.isOpen) await client.close();
    assert.deepEqual(errors, []);
  });
  await client.flushAll();
  return client;
}

const versions = { 'as it is by default': {}, 'in RESP 2': { RESP: 2 }, 'in RESP 3': { RESP: 3 } };

for (const [how, options] of Object.entries(versions)) {
  test(`Bloom commands ${how}`, async t => {
    const client = await connected(t, options);
    assert.equal(await client.ping(), 'PONG');
    assert.equal(await client.bf.reserve('k', 0.01, 1000), 'OK');
    assert.equal(await client.bf.add('k', 'foo'), true);
    assert.equal(await client.bf.add('k', 'foo'), false);
    assert.equal(await client.bf.exists('k', 'foo'), true);
    assert.equal(await client.bf.exists('k', 'bar'), false);
    assert.equal(await client.bf.exists('none', 'foo'), false);
    assert.deepEqual(await client.bf.mAdd('k', ['foo', 'bar', '']), [false, true, true]);
    assert.deepEqual(await client.bf.mExists('k', ['foo', 'no', '']), [true, false, true]);
    assert.equal(await client.bf.card('k'), 3);
    assert.deepEqual(
      await client.bf.insert('i', ['a', 'a'], { CAPACITY: 100, ERROR: 0.001, EXPANSION: 4, NOCREATE: false }),
      [true, false]);

    const info = await client.bf.info('k');
    assert.equal(info['Capacity'], 1000);
    assert.equal(info['Number of items inserted'], 3);
    assert.equal(info['Number of filters'], 1);
    assert.equal(info['Expansion rate'], 2);
    assert.deepEqual(Object.keys(info).length, 5);

    await client.bf.reserve('n', 0.01, 10, { NONSCALING: true });
    assert.equal((await client.bf.info('n'))['Expansion rate'], null);
    await assert.rejects(client.bf.info('none'), /ERR not found/);
    await assert.rejects(client.bf.reserve('k', 0.01, 1000), /ERR item exists/);
    await assert.rejects(client.bf.insert('none', ['a'], { NOCREATE: true }), /ERR not found/);
  });

  test(`dumps ${how}`, async t => {
    const client = await connected(t, options);
    const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    for (const type of ['redisbloom', 'blocked']) {
      await client.sendCommand(['BF.RESERVE', type, '0.001', '1000', 'TYPE', type]);
      const items = Array.from({ length: 900 }, (_, i) => `item:${i}`);
      await client.bf.mAdd(type, items);
      const debug = await client.sendCommand(['BF.DEBUG', type]);
      const pieces = [];
      let piece = await binary.bf.scanDump(type, 0);
      while (piece.iterator !== 0) {
        pieces.push(piece);
        piece = await binary.bf.scanDump(type, piece.iterator);
      }
      assert.equal(piece.chunk.length, 0);
      await client.del(type);
      for (const { iterator, chunk } of pieces) assert.equal(await client.bf.loadChunk(type, iterator, chunk), 'OK');
      assert.deepEqual(await client.sendCommand(['BF.DEBUG', type]), debug);
      assert.ok((await client.bf.mExists(type, items)).every(Boolean));
      await assert.rejects(client.bf.loadChunk(type, 1, 'x'), /ERR received bad data/);
    }
    await assert.rejects(client.bf.scanDump('none', 0), /ERR not found/);
  });

  test(`pipelines and transactions ${how}`, async t => {
    const client = await connected(t, options);
    const items = Array.from({ length: 500 }, (_, i) => `item:${i}`);
    const added = await Promise.all(items.map(item => client.bf.add('k', item)));
    assert.ok(added.filter(Boolean).length >= 490);
    const replies = await client.multi().bf.add('m', 'a').bf.mExists('m', ['a', 'b']).bf.card('m').ping().exec();
    assert.deepEqual(replies, [true, [true, false], 1, 'PONG']);
    await assert.rejects(client.multi().bf.add('m', 'b').bf.info('none').exec(), /1 commands failed/);
    const piped = await client.multi().bf.add('p', 'a').bf.exists('p', 'a').execAsPipeline();
    assert.deepEqual(piped, [true, true]);
  });

  test(`watching ${how}`, async t => {
    const client = await connected(t, options);
    const other = client.duplicate();
    await other.connect();
    t.after(() => other.close());
    await client.watch('k');
    await other.bf.add('k', 'x');
    await assert.rejects(client.multi().bf.add('k', 'y').exec(), WatchError);
    assert.equal(await client.bf.exists('k', 'y'), false);
    await client.watch(['k', 'none']);
    assert.deepEqual(await client.multi().bf.add('k', 'y').exec(), [true]);
    await client.watch('k');
    await client.unwatch();
    await other.bf.add('k', 'z');
    assert.deepEqual(await client.multi().ping().exec(), ['PONG']);
  });

  test(`channels ${how}`, async t => {
    const client = await connected(t, options);
    const listener = client.duplicate();
    await listener.connect();
    t.after(() => listener.close());
    const got = [];
    let enough;
    const all = new Promise(resolve => { enough = resolve; });
    const listen = (message, channel) => {
      got.push([channel, message]);
      if (got.length === 4) enough();
    };
    await listener.subscribe('news', listen);
    await listener.pSubscribe('__keyevent@0__:*', listen);
    assert.equal(await client.publish('news', 'hello'), 1);
    await client.configSet('notify-keyspace-events', 'Egdn');
    await client.bf.add('k', 'x');
    await client.del('k');
    await client.configSet('notify-keyspace-events', '');
    await all;
    assert.deepEqual(got, [['news', 'hello'], ['__keyevent@0__:new', 'k'], ['__keyevent@0__:bf.add', 'k'],
      ['__keyevent@0__:del', 'k']]);
    assert.deepEqual(await client.pubSubChannels(), ['news']);
    await listener.unsubscribe('news');
    await listener.pUnsubscribe();
    assert.equal(await client.publish('news', 'nobody'), 0);
    assert.equal(String(await listener.ping()), 'PONG'); // in RESP 2 the client gives bytes after it was subscribed
  });

  test(`everything else ${how}`, async t => {
    const client = await connected(t, { ...options, name: 'somebody' });
    assert.equal(await client.clientGetName(), 'somebody');
    const self = await client.clientInfo();
    assert.match(self.libName, /node-redis/);
    assert.equal(self.resp, options.RESP ?? 3);
    for (const name of ['a:1', 'a:2', 'b:1']) await client.bf.add(name, 'x');
    const found = [];
    for await (const keys of client.scanIterator({ MATCH: 'a:*', COUNT: 10 })) found.push(...keys);
    assert.deepEqual(found.sort(), ['a:1', 'a:2']);
    assert.equal(await client.type('a:1'), 'MBbloom--');
    assert.equal(await client.del(['a:1', 'a:2']), 2);
    assert.equal(await client.exists('b:1'), 1);
    assert.equal(await client.rename('b:1', 'c'), 'OK');
    assert.equal(await client.dbSize(), 1);
    assert.deepEqual((await client.moduleList()).map(module => module.name), ['bf']);
    assert.match(await client.info('replication'), /role:master/);
    assert.equal((await client.configGet('save-interval'))['save-interval'], '0');
    assert.equal(await client.sendCommand(['SAVE']), 'OK');
  });

  test(`binary items ${how}`, async t => {
    const client = (await connected(t, options)).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    const item = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    assert.deepEqual(await client.echo(item), item);
    assert.equal(await client.bf.add('k', item), true);
    assert.equal(await client.bf.exists('k', item), true);
    assert.equal(await client.bf.exists('k', item.subarray(1)), false);
  });
}
