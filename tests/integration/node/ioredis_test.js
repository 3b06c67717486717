// npm's `ioredis`, which has no API for Bloom filters: BF.* by call() and in pipelines. Told by the environment: PORT.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Redis } from 'ioredis';

async function connected(t, options = {}) {
  const port = Number(process.env.PORT);
  const redis = new Redis({ host: '127.0.0.1', port, retryStrategy: null, lazyConnect: true, ...options });
  const errors = [];
  redis.on('error', error => errors.push(error));
  await redis.connect();
  t.after(() => {
    redis.disconnect();
    assert.deepEqual(errors, []);
  });
  await redis.flushall();
  return redis;
}

// What a yes and a no look like depends on the protocol version that it negotiated.
const yes = reply => assert.ok(reply === 1 || reply === true, `${reply} is no yes`);
const no = reply => assert.ok(reply === 0 || reply === false, `${reply} is no no`);

const versions = { 'as it is by default': {}, 'in RESP 2': { protocol: 2 }, 'in RESP 3': { protocol: 3 } };

for (const [how, options] of Object.entries(versions)) {
  test(`Bloom commands ${how}`, async t => {
    const redis = await connected(t, options);
    assert.equal(redis.status, 'ready');
    assert.equal(await redis.call('BF.RESERVE', 'k', 0.01, 1000), 'OK');
    yes(await redis.call('BF.ADD', 'k', 'foo'));
    no(await redis.call('BF.ADD', 'k', 'foo'));
    const [first, second] = await redis.call('BF.MEXISTS', 'k', 'foo', 'bar');
    yes(first);
    no(second);
    assert.equal(await redis.call('BF.CARD', 'k'), 1);
    await assert.rejects(redis.call('BF.INFO', 'none'), /^ReplyError: ERR not found/);
    assert.equal(await redis.type('k'), 'MBbloom--');
    assert.equal(await redis.del('k'), 1);
  });

  test(`pipelines and transactions ${how}`, async t => {
    const redis = await connected(t, options);
    const pipeline = redis.pipeline();
    for (let i = 0; i < 500; i++) pipeline.call('BF.ADD', 'k', `item:${i}`);
    const replies = await pipeline.exec();
    assert.equal(replies.length, 500);
    assert.ok(replies.every(([error]) => error === null));
    const transaction = await redis.multi().call('BF.ADD', 'm', 'a').call('BF.EXISTS', 'm', 'a').ping().exec();
    assert.deepEqual(transaction.map(([error]) => error), [null, null, null]);
    yes(transaction[1][1]);
    assert.equal(transaction[2][1], 'PONG');
  });

  test(`everything else ${how}`, async t => {
    const redis = await connected(t, { ...options, connectionName: 'somebody', db: 0 });
    assert.equal(await redis.client('GETNAME'), 'somebody');
    assert.match(await redis.client('INFO'), new RegExp(` resp=${options.protocol ?? 3}\\b`));
    for (let i = 0; i < 50; i++) await redis.call('BF.ADD', `name:${i}`, 'x');
    const found = [];
    for await (const keys of redis.scanStream({ match: 'name:1*', count: 7 })) found.push(...keys);
    assert.equal(new Set(found).size, 11);
    assert.equal(await redis.dbsize(), 50);
    assert.match(await redis.info(), /loading:0/);
    assert.deepEqual(await redis.echo('hello'), 'hello');
    const item = Buffer.from([0, 13, 10, 255]);
    yes(await redis.call('BF.ADD', 'binary', item));
    yes(await redis.call('BF.EXISTS', 'binary', item));
    assert.equal(await redis.save(), 'OK');
  });
}
