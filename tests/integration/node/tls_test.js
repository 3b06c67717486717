// npm's `redis` and `ioredis` by TLS. Told by the environment: PORT, and CA, the file of the authority.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Redis } from 'ioredis';
import { createClient } from 'redis';

const port = Number(process.env.PORT);
const ca = readFileSync(process.env.CA);

test('redis', async () => {
  const client = createClient({ socket: { host: '127.0.0.1', port, tls: true, ca, reconnectStrategy: false } });
  await client.connect();
  assert.deepEqual(await client.bf.mAdd('node', ['a', 'b']), [true, true]);
  const replies = await Promise.all(Array.from({ length: 5000 }, (_, i) => client.echo(`${i}`)));
  assert.deepEqual(replies, Array.from({ length: 5000 }, (_, i) => `${i}`));
  await client.close();
});

test('redis does not trust an unknown authority', async () => {
  const client = createClient({ socket: { host: '127.0.0.1', port, tls: true, reconnectStrategy: false } });
  client.on('error', () => {});
  await assert.rejects(client.connect(), /self[- ]signed|unable to (get|verify)/);
  client.destroy();
});

test('ioredis', async () => {
  const redis = new Redis({ host: '127.0.0.1', port, tls: { ca }, retryStrategy: null, lazyConnect: true });
  await redis.connect();
  const large = 'x'.repeat(3 << 20);
  assert.equal(await redis.echo(large), large);
  assert.equal(await redis.call('BF.EXISTS', 'node', 'nobody'), 0);
  redis.disconnect();
});
