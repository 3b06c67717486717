// Looks up items in a filter that a Bitsieve server dumped, in a browser or in Node, without dependencies or
// WebAssembly.
//
//   import { Filter } from './bitsieve.mjs';
//   const response = await fetch('/blocked-words.bsf');           // written by `bitsieve export` or BF.DUMP
//   const filter = Filter.fromBytes(await response.arrayBuffer());
//   filter.mayContain('alice');                                   // true: probably added; false: definitely not
//
//   const seen = await Filter.follow('http://127.0.0.1:9379/filters/seen');  // a copy that follows the server's
//
// Reads filters of the types blocked and classic (with the default hash function), cuckoo, expiring, and ribbon once it
// is frozen.
// Items are strings, which are converted to their UTF-8 bytes, or Uint8Arrays. Every field is checked against the
// length of the dump; docs/formats/ describes the bytes.

import { FollowedFilter } from './follow.mjs';
import { add64, checksum, high, low, multiply64, multiplyAndFold, multiplyUpper, scale, Xxh3 } from './xxh3.mjs';

export { FollowedFilter };

/** Thrown for bytes that are not a readable filter. The message says what is wrong, and what would be right. */
export class FilterError extends Error {
  get name() {
    return 'FilterError';
  }
}

function require(holds, message) {
  if (!holds) throw new FilterError(message);
}

// Numbers of a header, one after the other.
class Reader {
  constructor(bytes) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }
  take(size) {
    require(this.at + size <= this.view.byteLength, 'the header ends too soon');
    this.at += size;
    return this.at - size;
  }
  uint16() {
    return this.view.getUint16(this.take(2), true);
  }
  uint8() {
    return this.view.getUint8(this.take(1));
  }
  uint32() {
    return this.view.getUint32(this.take(4), true);
  }
  double() {
    return this.view.getFloat64(this.take(8), true);
  }
  // Of 64 bits, as far as JavaScript counts exactly.
  count() {
    const lower = this.uint32();
    const number = this.uint32() * 0x100000000 + lower;
    require(Number.isSafeInteger(number), `a number of the header is too large: ${number}`);
    return number;
  }
  end() {
    require(this.at === this.view.byteLength, 'bytes follow the last field of the header');
  }
}

const MOST_PLACES = 0xffffffff;  // lines, buckets or shards: what scale() takes

// A body's words of 32 bits, given out from first to last.
class Body {
  constructor(words) {
    this.words = words;
    this.at = 0;
  }
  take(bytes) {
    require(bytes <= (this.words.length - this.at) * 4, 'the body is shorter than the header says');
    this.at += bytes / 4;
    return this.words.subarray(this.at - bytes / 4, this.at);
  }
  end() {
    require(this.at === this.words.length, 'the body is longer than the header says');
  }
}

// Of two hashes.
function isEqual(one, other) {
  return one.every((part, i) => part === other[i]);
}

function readParameters(reader) {
  const errorRate = reader.double();
  const capacity = reader.count();
  reader.take(4 + 8 + 8);  // how it grows
  const seedLow = reader.uint32();
  const seedHigh = reader.uint32();
  require(errorRate >= 1e-9 && errorRate <= 0.25, `the error rate ${errorRate} is not between 1e-9 and 0.25`);
  require(capacity >= 1 && capacity <= 2 ** 30, `the capacity ${capacity} is not between 1 and 2^30`);
  const XXH3 = 1;
  require(reader.uint16() === XXH3, 'only filters with the default hash function, xxh3, can be read');
  const count = reader.uint16();
  require(count <= 4, `${count} parameters of the type are more than 4`);
  const own = new Map();  // values by number
  for (let i = 0; i < count; ++i) own.set(reader.count(), reader.count());
  return { errorRate, capacity, seedLow, seedHigh, own };
}

const sum = (tables, field) => tables.reduce((total, table) => total + table[field], 0);

// A hash is four numbers of 32 bits: the halves of its lower 64 bits, lower first, then those of its upper ones.

// ---- blocked: core/families/bloom/block_kernel.h

const LANES = 16;
const LANE_SETS = 1024;
const LINE_BITS = 512;
const LANE_SALTS = Int32Array.of(
  0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
  0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d, 0xfd7046c5, 0xb55a4f09);

const laneSetTables = new Map();

// k lanes for each of 1024 sets: the first steps of a shuffle by a stream of splitmix64 that begins with k.
function laneSets(k) {
  if (laneSetTables.has(k)) return laneSetTables.get(k);
  const table = new Uint8Array(LANE_SETS * k);
  let stateHigh = 0, stateLow = k;
  const random = () => {
    const lower = (stateLow >>> 0) + 0x7f4a7c15;
    stateHigh = (stateHigh + 0x9e3779b9 + (lower > 0xffffffff ? 1 : 0)) | 0;
    stateLow = lower | 0;
    let x = stateHigh, y = stateLow;
    multiply64(x ^ (x >>> 30), y ^ ((y >>> 30) | (x << 2)), 0xbf58476d, 0x1ce4e5b9);
    x = high();
    y = low();
    multiply64(x ^ (x >>> 27), y ^ ((y >>> 27) | (x << 5)), 0x94d049bb, 0x133111eb);
    x = high();
    y = low();
    return [x ^ (x >>> 31), y ^ ((y >>> 31) | (x << 1))];
  };
  for (let set = 0; set < LANE_SETS; ++set) {
    const lanes = Array.from({ length: LANES }, (_, lane) => lane);
    for (let i = 0; i < k; ++i) {
      const [upper, lower] = random();
      const pick = i + scale(upper, lower, LANES - i);
      [lanes[i], lanes[pick]] = [lanes[pick], lanes[i]];
      table[set * k + i] = lanes[i];
    }
  }
  laneSetTables.set(k, table);
  return table;
}

class BlockedTable {
  constructor(reader, which) {
    this.capacity = reader.count();
    const rate = reader.double();
    const bits = reader.count();
    const hashFunctions = reader.uint32();
    this.linesPerItem = reader.uint32();
    this.items = reader.count();
    this.lines = bits / LINE_BITS;
    this.lanes = hashFunctions / this.linesPerItem;
    const possible = (this.linesPerItem === 1 || this.linesPerItem === 2) && Number.isInteger(this.lanes) &&
      this.lanes >= 1 && this.lanes <= LANES && Number.isInteger(this.lines) && this.lines >= this.linesPerItem &&
      this.lines <= MOST_PLACES && this.capacity >= 1 && rate > 0 && rate < 1;
    require(possible, `the shape of sub-filter ${which} is impossible`);
    require(this.items <= this.capacity, `sub-filter ${which} holds more items than it can`);
    this.sets = laneSets(this.lanes);
  }

  attach(body) {
    this.words = body.take(this.lines * 64);
  }

  // Sets the bits of a line.
  mark(line, set, word) {
    const k = this.lanes;
    for (let i = set * k; i < set * k + k; ++i) {
      const lane = this.sets[i];
      this.words[line * LANES + lane] |= 1 << (Math.imul(word, LANE_SALTS[lane]) >>> 27);
    }
  }

  covers(line, set, word) {
    const words = this.words, sets = this.sets, k = this.lanes;
    const begin = line * LANES;
    for (let i = set * k; i < set * k + k; ++i) {
      const lane = sets[i];
      if (((words[begin + lane] >>> (Math.imul(word, LANE_SALTS[lane]) >>> 27)) & 1) === 0) return false;
    }
    return true;
  }

  secondLine(hash, first) {
    multiply64(hash[1], hash[0], 0xd6e8feb8, 0x6659fd93);
    const other = scale(high(), low(), this.lines - 1);
    return other >= first ? other + 1 : other;
  }

  holds(hash) {
    const first = scale(hash[1], hash[0], this.lines);
    if (!this.covers(first, hash[0] & 1023, hash[2])) return false;
    if (this.linesPerItem === 1) return true;
    return this.covers(this.secondLine(hash, first), (hash[0] >>> 10) & 1023, hash[3]);
  }

  add(hash) {
    const first = scale(hash[1], hash[0], this.lines);
    this.mark(first, hash[0] & 1023, hash[2]);
    if (this.linesPerItem === 2) this.mark(this.secondLine(hash, first), (hash[0] >>> 10) & 1023, hash[3]);
  }
}

// ---- classic: core/families/bloom/positions.h

class ClassicTable {
  constructor(reader, which) {
    this.capacity = reader.count();
    const rate = reader.double();
    this.bits = reader.count();
    this.hashFunctions = reader.uint32();
    const unused = reader.uint32();
    this.items = reader.count();
    const possible = unused === 0 && this.hashFunctions >= 1 && this.hashFunctions <= 64 && this.bits >= 1 &&
      this.bits <= 2 ** 48 && this.capacity >= 1 && rate > 0 && rate < 1;
    require(possible, `the shape of sub-filter ${which} is impossible`);
    require(this.items <= this.capacity, `sub-filter ${which} holds more items than it can`);
    this.bitsHigh = Math.floor(this.bits / 0x100000000);
    this.bitsLow = this.bits | 0;
  }

  attach(body) {
    this.words = body.take(Math.ceil(this.bits / LINE_BITS) * 64);
  }

  // Calls visit(word, bit) for each position of a hash until it returns false; returns whether it never did.
  every(hash, visit) {
    let atHigh = hash[1], atLow = hash[0], stepHigh = hash[3], stepLow = hash[2] | 1, growthHigh = 0x9e3779b9,
      growthLow = 0x7f4a7c15;
    for (let i = 0; i < this.hashFunctions; ++i) {
      multiplyUpper(atHigh, atLow, this.bitsHigh, this.bitsLow);
      if (!visit(high() * 0x8000000 + (low() >>> 5), low() & 31)) return false;
      add64(atHigh, atLow, stepHigh, stepLow);
      atHigh = high();
      atLow = low();
      add64(stepHigh, stepLow, growthHigh, growthLow);
      stepHigh = high();
      stepLow = low();
      add64(growthHigh, growthLow, 0x9e3779b9, 0x7f4a7c15);
      growthHigh = high();
      growthLow = low();
    }
    return true;
  }

  holds(hash) {
    return this.every(hash, (word, bit) => ((this.words[word] >>> bit) & 1) === 1);
  }

  add(hash) {
    this.every(hash, (word, bit) => {
      this.words[word] |= 1 << bit;
      return true;
    });
  }
}

// ---- both of them: core/families/bloom/scalable_filter.h

// A small filter that grows is its items' hashes.
class HashList {
  constructor(reader, parameters) {
    const count = reader.uint32();
    require(count <= 16, `a list of ${count} hashes is longer than 16`);
    this.items = count;
    this.capacity = parameters.capacity;
    this.hashes = Array.from({ length: count }, () => Array.from({ length: 4 }, () => reader.uint32() | 0));
  }
  attach() {}
  holds(hash) {
    return this.hashes.some((each) => isEqual(each, hash));
  }
}

function readScalable(reader, Table) {
  const parameters = readParameters(reader);
  const count = reader.uint32();
  require(count <= 4096, `${count} sub-filters are more than 4096`);
  const tables = Array.from({ length: count }, (_, i) => new Table(reader, i));
  if (count === 0) tables.push(new HashList(reader, parameters));
  // The newest holds most.
  const newestFirst = [...tables].reverse();
  const holds = (hash) => newestFirst.some((table) => table.holds(hash));
  // Adds as the server does. Returns false, and adds nothing, where the server's filter has grown.
  const add = (hash) => {
    const newest = newestFirst[0];
    if (holds(hash)) return true;
    if (newest instanceof HashList || newest.items >= newest.capacity) return false;
    newest.add(hash);
    ++newest.items;
    return true;
  };
  return { ...parameters, tables, holds, add };
}

const readBlocked = (reader) => readScalable(reader, BlockedTable);
const readClassic = (reader) => readScalable(reader, ClassicTable);

// ---- cuckoo: core/families/cuckoo/cuckoo_table.h

class CuckooTable {
  // A slot has `besides` bits above the fingerprint.
  constructor(reader, bucketSize, older, which, besides = 0) {
    this.capacity = reader.count();
    const rate = reader.double();
    this.buckets = reader.count();
    this.bits = reader.count();
    this.items = reader.count();
    this.slotBits = this.bits + besides;
    this.bucketSize = bucketSize;
    require(this.buckets >= 1 && this.buckets <= MOST_PLACES, `the number of buckets of table ${which} is out of range`);
    require(this.bits >= 1 && this.bits <= 32, `the fingerprints of table ${which} are not of 1 to 32 bits`);
    const slots = this.buckets * bucketSize;
    require(rate > 0 && rate < 1 && this.capacity >= 1 && this.capacity <= slots && this.items <= slots,
            `the shape of table ${which} is impossible`);
    require(older === undefined || (this.buckets % older.buckets === 0 && this.bits >= older.bits),
            `table ${which} does not match the one before`);
    this.multiple = older === undefined ? this.buckets : this.buckets / older.buckets;
    this.mask = this.bits === 32 ? -1 : (1 << this.bits) - 1;
  }

  // Words of 64 bits that slots take, with the spare one.
  slotWords() {
    return Math.floor((this.buckets * this.bucketSize * this.slotBits + 63) / 64) + 1;
  }

  attach(body) {
    this.words = body.take(Math.ceil((this.slotWords() * 8) / 64) * 64);
  }

  // The 32 bits from there on.
  bitsAt(bit) {
    const word = Math.floor(bit / 32);
    const shift = bit - word * 32;
    return shift === 0 ? this.words[word] : (this.words[word] >>> shift) | (this.words[word + 1] << (32 - shift));
  }

  // Returns the first slot from `first` on that has the fingerprint; -1 if there is none.
  find(bucket, fingerprint, first = 0) {
    const { slotBits, mask } = this;
    let bit = (bucket * this.bucketSize + first) * slotBits;
    for (let slot = first; slot < this.bucketSize; ++slot, bit += slotBits) {
      if (((this.bitsAt(bit) ^ fingerprint) & mask) === 0) return slot;
    }
    return -1;
  }
}

// Returns a function that calls visit(table, bucket, partner, fingerprint) for the tables in which a hash may be,
// oldest first, until one returns true; and returns whether one did.
function cuckooSearch(tables) {
  const firstBits = tables[0].bits;
  return (hash, visit) => {
    const source = hash[3] >>> 0;
    const first = Math.max(1, source >>> (32 - firstBits));
    multiply64(0, first, 0xff51afd7, 0xed558ccd);
    multiply64(high(), low() ^ (high() >>> 1), 0xc4ceb9fe, 0x1a85ec53);
    const sumHigh = high();
    const sumLow = low() ^ (sumHigh >>> 1);
    let bucket = 0, partner = 0, total = 0;
    for (const table of tables) {
      const { multiple } = table;
      const itsBucket = scale(hash[1], hash[0], table.buckets);
      const itsTotal = scale(sumHigh, sumLow, table.buckets);
      const digit = itsTotal - multiple * total - (itsBucket - multiple * bucket);
      partner = multiple * partner + (digit < 0 ? digit + multiple : digit);
      bucket = itsBucket;
      total = itsTotal;
      const fingerprint = Math.max(1, source >>> (32 - table.bits)) | 0;
      if (visit(table, bucket, partner, fingerprint)) return true;
    }
    return false;
  };
}

function readCuckooTables(reader, makeTable) {
  const count = reader.uint32();
  require(count >= 1 && count <= 256, `${count} tables are not between 1 and 256`);
  const tables = [];
  for (let i = 0; i < count; ++i) tables.push(makeTable(tables[i - 1], i));
  return tables;
}

function readCuckoo(reader) {
  const parameters = readParameters(reader);
  const bucketSize = parameters.own.get(1) ?? 4;
  require(bucketSize >= 2 && bucketSize <= 8, `a bucket size of ${bucketSize} is not between 2 and 8`);
  const tables = readCuckooTables(reader, (older, which) => new CuckooTable(reader, bucketSize, older, which));
  const search = cuckooSearch(tables);
  const holds = (table, bucket, partner, fingerprint) =>
    table.find(bucket, fingerprint) >= 0 || table.find(partner, fingerprint) >= 0;
  return { ...parameters, tables, holds: (hash) => search(hash, holds) };
}

// ---- expiring: core/families/expiring/expiring_table.h

const SEGMENT_BUCKETS = 2048;

class ExpiringTable extends CuckooTable {
  constructor(reader, epochBits, older, which) {
    super(reader, 4, older, which, epochBits);
    this.epochBits = epochBits;
  }

  attach(body) {
    const tags = this.slotWords();  // words of 64 bits before them
    const segments = Math.ceil(this.buckets / SEGMENT_BUCKETS);
    this.words = body.take(Math.ceil(((tags + segments) * 8) / 64) * 64);
    this.tags = this.words.subarray(2 * tags, 2 * (tags + segments));
  }

  // Returns the last epoch, `now` or later, of the fingerprint in the bucket; -1 if there is none.
  lastEpoch(bucket, fingerprint, now) {
    const numbers = 2 ** this.epochBits;
    const segment = Math.floor(bucket / SEGMENT_BUCKETS);
    const tag = this.tags[2 * segment] + this.tags[2 * segment + 1] * 0x100000000;
    let last = -1;
    for (let slot = this.find(bucket, fingerprint); slot >= 0; slot = this.find(bucket, fingerprint, slot + 1)) {
      const number = this.bitsAt((bucket * this.bucketSize + slot) * this.slotBits + this.bits) & (numbers - 1);
      const epoch = tag + ((number - (tag % numbers) + numbers) % numbers);
      if (epoch >= now && epoch > last) last = epoch;
    }
    return last;
  }
}

function readExpiring(reader) {
  const parameters = readParameters(reader);
  const ttl = parameters.own.get(1) ?? 0;
  const epochBits = parameters.own.get(2) ?? 4;
  require(ttl >= 100 && ttl <= 10 * 365 * 86400000, `a time to live of ${ttl} ms is out of range`);
  require(epochBits === 4 || epochBits === 8, `epochs of ${epochBits} bits are not of 4 or 8`);
  const newest = reader.count();
  require(newest <= 2 ** 44, 'the time of the latest change is impossible');
  const tables = readCuckooTables(reader, (older, which) => new ExpiringTable(reader, epochBits, older, which));
  const search = cuckooSearch(tables);
  const perTtl = epochBits === 4 ? 14 : 250;
  const now = () => Math.max(Date.now(), newest);
  const epochAt = (ms) => Math.floor((ms * perTtl) / ttl);
  const lastEpoch = (hash, epoch) => {
    let last = -1;
    search(hash, (table, bucket, partner, fingerprint) => {
      last = Math.max(last, table.lastEpoch(bucket, fingerprint, epoch), table.lastEpoch(partner, fingerprint, epoch));
      return false;
    });
    return last;
  };
  const timeToLive = (hash) => {
    const ms = now();
    const last = lastEpoch(hash, epochAt(ms));
    return last < 0 ? -2 : Math.ceil(((last + 1) * ttl) / perTtl) - ms;
  };
  return { ...parameters, tables, holds: (hash) => lastEpoch(hash, epochAt(now())) >= 0, timeToLive };
}

// ---- ribbon: core/families/ribbon/ribbon_kernel.h

const SLOTS_PER_BLOCK = 64;
const RIBBON_WIDTH = 128;
const SPARE_WORDS = 48;

function parity(x) {
  x ^= x >>> 16;
  x ^= x >>> 8;
  x ^= x >>> 4;
  return (0x6996 >>> (x & 15)) & 1;
}

class RibbonTable {
  constructor(reader, parameters) {
    const state = reader.uint32();
    this.items = reader.count();
    this.capacity = parameters.capacity;
    require(state === 1, 'a ribbon filter can be read once it is frozen (BF.FREEZE)');
    this.columns = reader.count();
    this.shards = reader.count();
    this.size = reader.count();  // words of 64 bits
    require(this.columns >= 1 && this.columns <= 30, `${this.columns} columns are not between 1 and 30`);
    require(this.size >= 1 && this.size <= 2 ** 40 && this.size % 8 === 0, 'the number of words is out of range');
    require(this.shards >= 1 && this.shards <= this.size / (2 + 2 * this.columns) && this.shards <= MOST_PLACES,
            'the number of shards is out of range');
    this.mask = new Int32Array(6);
  }

  wordsBefore(block, splitBlock) {
    return block * this.columns + (block > splitBlock ? block - splitBlock : 0);
  }

  // Each shard begins where the one before ends, and all are as long as the body.
  attach(body) {
    const words = (this.words = body.take(this.size * 8));
    let offset = 2 * this.shards;
    for (let i = 0; i < this.shards; ++i) {
      const slots = words[4 * i + 2] & 0xffffff;
      const split = (words[4 * i + 2] >>> 24) | ((words[4 * i + 3] & 0xffff) << 8);
      const begin = words[4 * i] + words[4 * i + 1] * 0x100000000;
      require(slots >= RIBBON_WIDTH && slots % SLOTS_PER_BLOCK === 0 && split <= slots - RIBBON_WIDTH + 1 &&
              words[4 * i + 3] >>> 24 === 0 && begin === offset, `the record of shard ${i} is impossible`);
      offset += this.wordsBefore(slots / SLOTS_PER_BLOCK, Math.floor(split / SLOTS_PER_BLOCK));
      require(offset <= this.size, 'the shards are longer than the body');
    }
    require(this.size - offset >= SPARE_WORDS && this.size - offset < SPARE_WORDS + 8,
            'the body is not as long as its shards say');
  }

  // The window's coefficients, moved to where they lie in three blocks.
  setMask(low0, low1, high0, high1, shift) {
    const { mask } = this;
    const from = shift >>> 5, by = shift & 31;
    mask[0] = mask[4] = mask[5] = 0;
    mask[1] = 0;
    mask[from] = low0 << by;
    mask[from + 1] = by === 0 ? low1 : (low1 << by) | (low0 >>> (32 - by));
    mask[from + 2] = by === 0 ? high0 : (high0 << by) | (low1 >>> (32 - by));
    mask[from + 3] = by === 0 ? high1 : (high1 << by) | (high0 >>> (32 - by));
    if (by !== 0) mask[from + 4] = high1 >>> (32 - by);
  }

  holds(hash) {
    const { words, columns, mask } = this;
    const keyLow = (hash[0] | hash[1]) === 0 ? 1 : hash[0];
    const record = 4 * scale(hash[1], keyLow, this.shards);
    const second = words[record + 2], third = words[record + 3];
    const slots = second & 0xffffff, split = (second >>> 24) | ((third & 0xffff) << 8);
    // The key under the shard's seed.
    multiply64(0x9e3779b9, 0x7f4a7c15, 0, third >>> 16);
    const lower = (keyLow >>> 0) + (low() >>> 0);
    let x = (hash[1] + high() + (lower > 0xffffffff ? 1 : 0)) | 0;
    multiply64(x, lower ^ (x >>> 1), 0xff51afd7, 0xed558ccd);
    x = high();
    multiply64(x, low() ^ (x >>> 1), 0xc4ceb9fe, 0x1a85ec53);
    x = high();
    const y = low() ^ (x >>> 1);

    const start = scale(x, y, slots - RIBBON_WIDTH + 1);
    multiplyAndFold(x, y, 0xa0761d64, 0x78bd642f);
    const low0 = low() | 1, low1 = high();
    multiplyAndFold(x, y, 0xe7037ed1, 0xa0b428db);
    this.setMask(low0, low1, low(), high(), start % SLOTS_PER_BLOCK);
    multiplyAndFold(x, y, 0x8ebc6af0, 0x9c88c6e3);
    const result = high();

    const base = words[record] + words[record + 1] * 0x100000000;
    const block = Math.floor(start / SLOTS_PER_BLOCK), splitBlock = Math.floor(split / SLOTS_PER_BLOCK);
    let first = 2 * (base + this.wordsBefore(block, splitBlock));
    let middle = 2 * (base + this.wordsBefore(block + 1, splitBlock));
    let last = 2 * (base + this.wordsBefore(block + 2, splitBlock));
    const asked = columns + (start >= split ? 1 : 0);
    for (let column = 0; column < asked; ++column, first += 2, middle += 2, last += 2) {
      const bits = (words[first] & mask[0]) ^ (words[first + 1] & mask[1]) ^ (words[middle] & mask[2]) ^
        (words[middle + 1] & mask[3]) ^ (words[last] & mask[4]) ^ (words[last + 1] & mask[5]);
      if (parity(bits) !== ((result >>> column) & 1)) return false;
    }
    return true;
  }
}

function readRibbon(reader) {
  const parameters = readParameters(reader);
  const table = new RibbonTable(reader, parameters);
  return { ...parameters, tables: [table], holds: (hash) => table.holds(hash) };
}

// ---- the dump: docs/formats/dump.md

const DUMP_MAGIC = 0x44465342;  // "BSFD"
const IMAGE_MAGIC = 0x49465342;  // "BSFI"
const HAS_FALSE_POSITIVES = 1;  // the only mark of a header
const CHECKSUM_BYTES = 8;
const TYPES = new Map([[1, ['classic', readClassic]], [2, ['blocked', readBlocked]], [4, ['cuckoo', readCuckoo]],
                       [9, ['ribbon', readRibbon]], [10, ['expiring', readExpiring]]]);
const OTHER_TYPES = { 3: 'counting', 5: 'rediscuckoo', 6: 'window', 7: 'redisbloom', 8: 'fingerprint',
                      11: 'valkeybloom' };

function hasChecksum(bytes) {
  const end = bytes.length - CHECKSUM_BYTES;
  checksum(bytes.subarray(0, end));
  const view = new DataView(bytes.buffer, bytes.byteOffset + end, CHECKSUM_BYTES);
  return view.getInt32(0, true) === low() && view.getInt32(4, true) === high();
}

// Hashes that are known to be false positives, at the end of the body. Most of them differ in their first part.
class FalsePositives {
  constructor(reader) {
    this.added = reader.count();  // of them, as items
    this.count = reader.count();
    require(this.count <= 65536, `${this.count} known false positives are more than 65536`);
    this.hashes = new Map();
  }
  attach(body) {
    const words = body.take(this.count * 16);
    for (let i = 0; i < words.length; i += 4) {
      const hash = Int32Array.from(words.subarray(i, i + 4));
      const others = this.hashes.get(hash[0]) ?? [];
      require(!others.some((other) => isEqual(other, hash)), 'a false positive appears twice');
      this.hashes.set(hash[0], [...others, hash]);
    }
  }
  has(hash) {
    return this.hashes.get(hash[0])?.some((each) => isEqual(each, hash)) ?? false;
  }
}

// [type, what its reader made], of the header of an image.
function readHeader(bytes) {
  require(bytes.length >= 24 + CHECKSUM_BYTES && hasChecksum(bytes), 'the header is damaged: it fails its checksum');
  const reader = new Reader(bytes.subarray(0, bytes.length - CHECKSUM_BYTES));
  require(reader.uint32() === IMAGE_MAGIC, 'the header does not begin with BSFI');
  const [version, marks] = [reader.uint8(), reader.uint8()];
  require(version === 1, `version ${version} of the header is not supported; this reads version 1`);
  require(marks <= HAS_FALSE_POSITIVES, 'the header has an unknown mark');
  const number = reader.uint16();
  const type = TYPES.get(number);
  require(type !== undefined, `a filter of type ${OTHER_TYPES[number] ?? number} cannot be read here; types that can ` +
    'are blocked, classic, cuckoo, expiring and ribbon');
  const made = type[1](reader);
  if (marks === HAS_FALSE_POSITIVES) made.falsePositives = new FalsePositives(reader);
  reader.end();
  return [type[0], made];
}

// ---- changes: docs/formats/changes.md

const ADDED = 1, KINDS = 4, WITH_TIME = 128, WITH_UNTIL = 64;

// Returns the kind and the hashes of each run.
function readRuns(bytes) {
  const reader = new Reader(bytes);
  const runs = [];
  while (reader.at < bytes.length) {
    const mark = reader.uint8(), count = reader.uint16();
    const kind = mark & ~(WITH_TIME | WITH_UNTIL);
    require(kind >= ADDED && kind <= KINDS && count > 0, 'these bytes are not changes of a filter');
    reader.take((mark & WITH_TIME ? 8 : 0) + (mark & WITH_UNTIL ? 8 : 0));
    const at = reader.take(16 * count);
    runs.push({ kind, hashes: new Int32Array(bytes.slice(at, at + 16 * count).buffer) });
  }
  return runs;
}

// The words of 32 bits from there on: where they lie if they are aligned, else a copy.
function wordsOf(bytes, at, size) {
  const begin = bytes.byteOffset + at;
  if (begin % 4 === 0) return new Uint32Array(bytes.buffer, begin, size / 4);
  return new Uint32Array(bytes.slice(at, at + size).buffer);
}

function bytesOf(source) {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return new Uint8Array(source);
}

const encoder = new TextEncoder();
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** A filter in which items can be looked up. */
export class Filter {
  #bytes;
  #type;
  #image;
  #hasher;
  #hash = new Int32Array(4);
  #text = new Uint8Array(256);
  #isChanged = false;

  /**
   * Makes a filter from the bytes of a dump. They are not copied, unless they are not aligned to 4 bytes, and must not
   * change afterwards. Only the header is read; verify() finds damaged bits.
   * @param {ArrayBuffer | ArrayBufferView} source the bytes, or a view of them such as Uint8Array or Buffer
   * @returns {Filter} the filter
   * @throws {FilterError} if the bytes are not a dump, are damaged, or contain a filter of an unsupported type or version
   */
  static fromBytes(source) {
    return new Filter(bytesOf(source));
  }

  /**
   * Makes a copy of a filter of a server, which follows its changes over HTTP (docs/follow.md), and waits until it is
   * there. Filters of the types blocked and classic read only what was added, and are read again when they grow; those
   * of the other types are read again whenever they have changed.
   * @param {string | URL} url where the admin port serves the filter: http://host:9379/filters/NAME
   * @param {{interval?: number, headers?: Record<string, string>, onError?: (error: Error) => void}} options how many
   *   milliseconds pass between two requests for changes, 1000 if it is not given; headers of all requests, such as
   *   Authorization; what is called when a request fails, which is then repeated after longer and longer pauses
   * @returns {Promise<FollowedFilter>} the copy
   * @throws {FilterError} if the server refuses the request, or the filter's type cannot be read
   * @throws {TypeError} if the server cannot be reached
   */
  static follow(url, options = {}) {
    return FollowedFilter.open(url, options);
  }

  constructor(bytes) {
    require(isLittleEndian, 'this machine is big-endian, which filters are not');
    require(bytes.length >= 20 && new Reader(bytes).uint32() === DUMP_MAGIC,
            'these bytes are not a dump of a filter, which begins with BSFD');
    const reader = new Reader(bytes);
    reader.take(4);
    const version = reader.uint16();
    require(version === 1, `version ${version} of the dump is not supported; this library reads 1`);
    require(reader.uint16() === 0, 'the head of the dump is damaged');
    const headerBytes = reader.uint32(), bodyBytes = reader.count();
    require(headerBytes <= 2 ** 20, `a header of ${headerBytes} bytes is longer than 1 MiB`);
    const wanted = reader.at + headerBytes + bodyBytes + CHECKSUM_BYTES;
    require(bytes.length === wanted, `these are ${bytes.length} bytes of a dump of ${wanted}`);
    require(bodyBytes % 4 === 0, 'the body does not consist of whole words');
    const bodyAt = reader.at + headerBytes;
    [this.#type, this.#image] = readHeader(bytes.subarray(reader.at, bodyAt));
    const body = new Body(wordsOf(bytes, bodyAt, bodyBytes));
    for (const table of this.#image.tables) table.attach(body);
    this.#image.falsePositives?.attach(body);
    body.end();
    this.#bytes = bytes;
    this.#hasher = new Xxh3(this.#image.seedHigh, this.#image.seedLow);
  }

  /**
   * Looks up an item.
   * @param {string | Uint8Array} item a string, which is converted to its UTF-8 bytes, or bytes
   * @returns {boolean} true if it was probably added, false if it definitely was not
   * @throws {TypeError} if the item is neither a string nor a Uint8Array
   * @throws {FilterError} if the filter's bytes were transferred elsewhere
   */
  mayContain(item) {
    this.#hashItem(item);
    return this.#image.holds(this.#hash) && !this.#image.falsePositives?.has(this.#hash);
  }

  /**
   * Returns the time for which an item will be found, as BF.TTL does; for filters of type expiring.
   * @param {string | Uint8Array} item a string, which is converted to its UTF-8 bytes, or bytes
   * @returns {number} the time in milliseconds; -2 if the item is not there
   * @throws {TypeError} if the item is neither a string nor a Uint8Array
   * @throws {FilterError} if the items of the filter's type do not expire, or its bytes were transferred elsewhere
   */
  timeToLive(item) {
    require(this.#image.timeToLive !== undefined, `a ${this.#type} filter cannot expire items; expiring filters can`);
    this.#hashItem(item);
    return this.#image.timeToLive(this.#hash);
  }

  /**
   * Looks up many items, each as mayContain() does.
   * @param {Iterable<string | Uint8Array>} items the items
   * @returns {boolean[]} the results in the same order
   * @throws {TypeError} if the argument is a single item, or contains something that is not an item
   * @throws {FilterError} if the filter's bytes were transferred elsewhere
   */
  mayContainMany(items) {
    if (typeof items !== 'object' || items === null || ArrayBuffer.isView(items)) {
      throw new TypeError('an array of items is needed, not one item: put it into an array, or take mayContain()');
    }
    return Array.from(items, (item) => this.mayContain(item));
  }

  /**
   * Returns the parameters and the state of the filter. errorRate is the requested error rate, between 0 and 1; capacity
   * and items are numbers of items over all sub-filters; sizeBytes is the length of the dump in bytes; falsePositives
   * is the number of known false positives.
   * @returns {{type: 'blocked' | 'classic' | 'cuckoo' | 'expiring' | 'ribbon', errorRate: number, capacity: number,
   *   items: number, subFilters: number, sizeBytes: number, falsePositives: number}} the description
   */
  describe() {
    const { errorRate, tables, falsePositives } = this.#image;
    return {
      type: this.#type,
      errorRate,
      capacity: sum(tables, 'capacity'),
      items: sum(tables, 'items') + (falsePositives?.added ?? 0),
      subFilters: tables.length,
      sizeBytes: this.#bytes.length,
      falsePositives: falsePositives?.count ?? 0,
    };
  }

  /**
   * Makes changes to the filter that were made to the server's, as BF.CHANGES returns them. The bytes of the dump
   * change, too. Items that are there already are left out.
   * @param {ArrayBuffer | ArrayBufferView} source the changes
   * @returns {boolean} whether they were made; false if it takes another dump, since the type is neither blocked nor
   *   classic, the filter has grown, or there are other changes than additions. Some of the items may then be there.
   * @throws {FilterError} if these are not changes, or the filter's bytes were transferred elsewhere
   */
  applyChanges(source) {
    this.#requireBytes();
    const runs = readRuns(bytesOf(source));
    const { add, falsePositives } = this.#image;
    return runs.every(({ kind, hashes }) => {
      if (add === undefined || kind !== ADDED) return false;
      this.#isChanged = true;
      for (let i = 0; i < hashes.length; i += 4) {
        const hash = hashes.subarray(i, i + 4);
        if (falsePositives?.has(hash) || !add(hash)) return false;
      }
      return true;
    });
  }

  /**
   * Reads all bytes of the dump and checks their checksum.
   * @throws {FilterError} if they are damaged, were changed by applyChanges(), or were transferred elsewhere
   */
  verify() {
    this.#requireBytes();
    require(!this.#isChanged, 'the filter has changed since its dump, which can no longer be verified');
    require(hasChecksum(this.#bytes), 'the dump is damaged: it fails its checksum');
  }

  #hashItem(item) {
    this.#requireBytes();
    if (typeof item === 'string') {
      const length = this.#encode(item);  // first: it may take another place for the text
      this.#hasher.hash(this.#text, length, this.#hash);
    } else if (item instanceof Uint8Array) {
      this.#hasher.hash(item, item.length, this.#hash);
    } else {
      throw new TypeError(`an item must be a string or a Uint8Array, not ${item === null ? 'null' : typeof item}`);
    }
  }

  // Lookups in an ArrayBuffer that was transferred would all be false.
  #requireBytes() {
    require(this.#bytes.length !== 0, 'the bytes of the filter were transferred elsewhere, as by postMessage()');
  }

  // Puts the text's UTF-8 bytes into #text; returns how many.
  #encode(text) {
    if (text.length * 3 > this.#text.length) this.#text = new Uint8Array(text.length * 6);
    const bytes = this.#text;
    for (let i = 0; i < text.length; ++i) {
      const code = text.charCodeAt(i);
      if (code > 127) return encoder.encodeInto(text, bytes).written;
      bytes[i] = code;
    }
    return text.length;
  }
}
