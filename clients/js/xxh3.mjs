// XXH3 of 128 and 64 bits, as the server hashes items and checks files, without BigInt and WebAssembly.
//
// A number of 64 bits is two of 32, its upper and its lower half, each any number that `| 0` makes the right one. A
// function that gives more than 32 bits puts them into the variables r3 (highest) to r0, or r1 and r0; the caller takes
// them before the next call. Objects would cost more than the hashing.
//
// What it computes is https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.

let r0 = 0;
let r1 = 0;
let r2 = 0;
let r3 = 0;

// r1:r0 = a * b, of 32 bits each.
function multiply32(a, b) {
  const aLow = a & 0xffff, aHigh = a >>> 16;
  const bLow = b & 0xffff, bHigh = b >>> 16;
  const lowest = aLow * bLow;
  const middle = aHigh * bLow + (lowest >>> 16);
  const other = aLow * bHigh + (middle & 0xffff);
  r0 = (other << 16) | (lowest & 0xffff);
  r1 = (aHigh * bHigh + (middle >>> 16) + (other >>> 16)) | 0;
}

// r3:r2:r1:r0 = a * b.
function multiply128(aHigh, aLow, bHigh, bLow) {
  multiply32(aLow, bLow);
  const low0 = r0, low1 = r1 >>> 0;
  multiply32(aHigh, bLow);
  const cross0 = r0 >>> 0, cross1 = r1 >>> 0;
  multiply32(aLow, bHigh);
  const other0 = r0 >>> 0, other1 = r1 >>> 0;
  multiply32(aHigh, bHigh);
  const sum1 = low1 + cross0 + other0;
  const sum2 = (r0 >>> 0) + cross1 + other1 + Math.floor(sum1 / 0x100000000);
  r3 = (r1 + Math.floor(sum2 / 0x100000000)) | 0;
  r2 = sum2 | 0;
  r1 = sum1 | 0;
  r0 = low0;
}

// r1:r0 = a * b, the lower 64 bits.
export function multiply64(aHigh, aLow, bHigh, bLow) {
  multiply32(aLow, bLow);
  r1 = (r1 + Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh)) | 0;
}

/** high():low() = the upper 64 bits of a * b. */
export function multiplyUpper(aHigh, aLow, bHigh, bLow) {
  multiply128(aHigh, aLow, bHigh, bLow);
  r1 = r3;
  r0 = r2;
}

// r1:r0 = a + b.
export function add64(aHigh, aLow, bHigh, bLow) {
  const sum = (aLow >>> 0) + (bLow >>> 0);
  r1 = (aHigh + bHigh + (sum > 0xffffffff ? 1 : 0)) | 0;
  r0 = sum | 0;
}

// r1:r0 = a - b.
function subtract64(aHigh, aLow, bHigh, bLow) {
  r1 = (aHigh - bHigh - ((aLow >>> 0) < (bLow >>> 0) ? 1 : 0)) | 0;
  r0 = (aLow - bLow) | 0;
}

// r1:r0 = both halves of a * b, XORed.
export function multiplyAndFold(aHigh, aLow, bHigh, bLow) {
  multiply128(aHigh, aLow, bHigh, bLow);
  r1 ^= r3;
  r0 ^= r2;
}

// What the other functions of this file left: halves of a number of 64 bits, as signed numbers.
export const high = () => r1;
export const low = () => r0;

const swap32 = (x) => ((x << 24) | ((x << 8) & 0xff0000) | ((x >>> 8) & 0xff00) | (x >>> 24)) | 0;
// The lower half of a number shifted right by less than 32.
const shiftedLow = (xHigh, xLow, by) => (xLow >>> by) | (xHigh << (32 - by));

const SECRET = new Uint8Array(
  ('b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221' +
   'b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8' +
   'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa136' +
   '3eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e')
    .match(/../g).map((byte) => parseInt(byte, 16)));
const SECRET_BYTES = 192;
const LEAST_SECRET_BYTES = 136;
const STRIPE_BYTES = 64;

const PRIME32_1 = 0x9e3779b1, PRIME32_2 = 0x85ebca77, PRIME32_3 = 0xc2b2ae3d;
// Halves of the primes of 64 bits.
const P1H = 0x9e3779b1, P1L = 0x85ebca87, P2H = 0xc2b2ae3d, P2L = 0x27d4eb4f, P3H = 0x165667b1, P3L = 0x9e3779f9;
const P4H = 0x85ebca77, P4L = 0xc2b2ae63, P5H = 0x27d4eb2f, P5L = 0x165667c5;

const read32 = (bytes, at) => bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);

// r1:r0, mixed so that each bit depends on all.
function avalanche(xHigh, xLow) {
  multiply64(xHigh, xLow ^ (xHigh >>> 5), 0x16566791, 0x9e3779f9);
  r0 ^= r1;
}
function avalancheOfXxh64(xHigh, xLow) {
  multiply64(xHigh, xLow ^ (xHigh >>> 1), P2H, P2L);
  multiply64(r1 ^ (r1 >>> 29), r0 ^ shiftedLow(r1, r0, 29), P3H, P3L);
  r0 ^= r1;
}

// r1:r0, of 16 bytes.
function mix16(bytes, at, secret, secretAt, seedHigh, seedLow) {
  add64(read32(secret, secretAt + 4), read32(secret, secretAt), seedHigh, seedLow);
  const firstHigh = read32(bytes, at + 4) ^ r1, firstLow = read32(bytes, at) ^ r0;
  subtract64(read32(secret, secretAt + 12), read32(secret, secretAt + 8), seedHigh, seedLow);
  multiplyAndFold(firstHigh, firstLow, read32(bytes, at + 12) ^ r1, read32(bytes, at + 8) ^ r0);
}

// Of a hash that is under way: the upper and lower 64 bits of its state.
let upperHigh = 0, upperLow = 0, lowerHigh = 0, lowerLow = 0;

function mix32(bytes, at, otherAt, secretAt, seedHigh, seedLow) {
  mix16(bytes, at, SECRET, secretAt, seedHigh, seedLow);
  add64(lowerHigh, lowerLow, r1, r0);
  const firstHigh = r1, firstLow = r0;
  add64(read32(bytes, otherAt + 4), read32(bytes, otherAt), read32(bytes, otherAt + 12), read32(bytes, otherAt + 8));
  lowerHigh = firstHigh ^ r1;
  lowerLow = firstLow ^ r0;
  mix16(bytes, otherAt, SECRET, secretAt + 16, seedHigh, seedLow);
  add64(upperHigh, upperLow, r1, r0);
  const secondHigh = r1, secondLow = r0;
  add64(read32(bytes, at + 4), read32(bytes, at), read32(bytes, at + 12), read32(bytes, at + 8));
  upperHigh = secondHigh ^ r1;
  upperLow = secondLow ^ r0;
}

function finishMiddle(length, seedHigh, seedLow, out) {
  add64(lowerHigh, lowerLow, upperHigh, upperLow);
  avalanche(r1, r0);
  out[0] = r0;
  out[1] = r1;
  multiply64(lowerHigh, lowerLow, P1H, P1L);
  const firstHigh = r1, firstLow = r0;
  multiply64(upperHigh, upperLow, P4H, P4L);
  add64(firstHigh, firstLow, r1, r0);
  const sumHigh = r1, sumLow = r0;
  subtract64(0, length, seedHigh, seedLow);
  multiply64(r1, r0, P2H, P2L);
  add64(sumHigh, sumLow, r1, r0);
  avalanche(r1, r0);
  subtract64(0, 0, r1, r0);
  out[2] = r0;
  out[3] = r1;
}

function hash1To3(bytes, length, seedHigh, seedLow, out) {
  const combined = (bytes[0] << 16) | (bytes[length >> 1] << 24) | bytes[length - 1] | (length << 8);
  const swapped = swap32(combined);
  const rotated = (swapped << 13) | (swapped >>> 19);
  add64(0, read32(SECRET, 0) ^ read32(SECRET, 4), seedHigh, seedLow);
  avalancheOfXxh64(r1, combined ^ r0);
  out[0] = r0;
  out[1] = r1;
  subtract64(0, read32(SECRET, 8) ^ read32(SECRET, 12), seedHigh, seedLow);
  avalancheOfXxh64(r1, rotated ^ r0);
  out[2] = r0;
  out[3] = r1;
}

function hash4To8(bytes, length, seedHigh, seedLow, out) {
  add64(read32(SECRET, 20) ^ read32(SECRET, 28), read32(SECRET, 16) ^ read32(SECRET, 24),
        seedHigh ^ swap32(seedLow), seedLow);
  multiply128(read32(bytes, length - 4) ^ r1, read32(bytes, 0) ^ r0, P1H, P1L + (length << 2));
  let lowHalfLow = r0, lowHalfHigh = r1;
  add64(r3, r2, (lowHalfHigh << 1) | (lowHalfLow >>> 31), lowHalfLow << 1);
  const highHalfLow = r0, highHalfHigh = r1;
  lowHalfLow ^= shiftedLow(highHalfHigh, highHalfLow, 3);
  lowHalfHigh ^= highHalfHigh >>> 3;
  multiply64(lowHalfHigh, lowHalfLow ^ (lowHalfHigh >>> 3), 0x9fb21c65, 0x1e98df25);
  out[0] = r0 ^ shiftedLow(r1, r0, 28);
  out[1] = r1 ^ (r1 >>> 28);
  avalanche(highHalfHigh, highHalfLow);
  out[2] = r0;
  out[3] = r1;
}

function hash9To16(bytes, length, seedHigh, seedLow, out) {
  const firstLow = read32(bytes, 0), firstHigh = read32(bytes, 4);
  const lastLow = read32(bytes, length - 8), lastHigh = read32(bytes, length - 4);
  subtract64(read32(SECRET, 36) ^ read32(SECRET, 44), read32(SECRET, 32) ^ read32(SECRET, 40), seedHigh, seedLow);
  multiply128(firstHigh ^ lastHigh ^ r1, firstLow ^ lastLow ^ r0, P1H, P1L);
  const productLow = r0, productHigh = (r1 + ((length - 1) << 22)) | 0;
  const upperLowHalf = r2, upperHighHalf = r3;
  add64(read32(SECRET, 52) ^ read32(SECRET, 60), read32(SECRET, 48) ^ read32(SECRET, 56), seedHigh, seedLow);
  const keyedLow = lastLow ^ r0, keyedHigh = lastHigh ^ r1;
  multiply32(keyedLow, PRIME32_2 - 1);
  add64(r1, r0, keyedHigh, keyedLow);
  add64(upperHighHalf, upperLowHalf, r1, r0);
  const sumLow = r0, sumHigh = r1;
  multiply128(productHigh ^ swap32(sumLow), productLow ^ swap32(sumHigh), P2H, P2L);
  const resultLow = r0, resultHigh = r1, carryLow = r2, carryHigh = r3;
  multiply64(sumHigh, sumLow, P2H, P2L);
  add64(r1, r0, carryHigh, carryLow);
  avalanche(r1, r0);
  out[2] = r0;
  out[3] = r1;
  avalanche(resultHigh, resultLow);
  out[0] = r0;
  out[1] = r1;
}

function hash17To240(bytes, length, seedHigh, seedLow, out) {
  multiply64(0, length, P1H, P1L);
  lowerHigh = r1;
  lowerLow = r0;
  upperHigh = upperLow = 0;
  if (length <= 128) {
    for (let i = (length - 1) >> 5; i >= 0; --i) {
      mix32(bytes, 16 * i, length - 16 * (i + 1), 32 * i, seedHigh, seedLow);
    }
  } else {
    for (let i = 0; i < 4; ++i) mix32(bytes, 32 * i, 32 * i + 16, 32 * i, seedHigh, seedLow);
    avalanche(lowerHigh, lowerLow);
    lowerHigh = r1;
    lowerLow = r0;
    avalanche(upperHigh, upperLow);
    upperHigh = r1;
    upperLow = r0;
    for (let i = 4; i < length >> 5; ++i) mix32(bytes, 32 * i, 32 * i + 16, 3 + 32 * (i - 4), seedHigh, seedLow);
    subtract64(0, 0, seedHigh, seedLow);
    mix32(bytes, length - 16, length - 32, LEAST_SECRET_BYTES - 17 - 16, r1, r0);
  }
  finishMiddle(length, seedHigh, seedLow, out);
}

// Eight numbers, each its lower and its upper half.
const accumulators = new Int32Array(16);
const BEGIN = [0, PRIME32_3, P1H, P1L, P2H, P2L, P3H, P3L, P4H, P4L, 0, PRIME32_2, P5H, P5L, 0, PRIME32_1];

function accumulate(bytes, at, secret, secretAt) {
  for (let i = 0; i < 8; ++i) {
    const low = read32(bytes, at + 8 * i), high = read32(bytes, at + 8 * i + 4);
    const keyLow = low ^ read32(secret, secretAt + 8 * i), keyHigh = high ^ read32(secret, secretAt + 8 * i + 4);
    const other = 2 * (i ^ 1);
    add64(accumulators[other + 1], accumulators[other], high, low);
    accumulators[other + 1] = r1;
    accumulators[other] = r0;
    multiply32(keyLow, keyHigh);
    add64(accumulators[2 * i + 1], accumulators[2 * i], r1, r0);
    accumulators[2 * i + 1] = r1;
    accumulators[2 * i] = r0;
  }
}

function scramble(secret, secretAt) {
  for (let i = 0; i < 8; ++i) {
    const low = accumulators[2 * i], high = accumulators[2 * i + 1];
    multiply64(high ^ read32(secret, secretAt + 8 * i + 4),
               low ^ (high >>> 15) ^ read32(secret, secretAt + 8 * i), 0, PRIME32_1);
    accumulators[2 * i] = r0;
    accumulators[2 * i + 1] = r1;
  }
}

function accumulateAll(bytes, length, secret) {
  for (let i = 0; i < 8; ++i) {
    accumulators[2 * i] = BEGIN[2 * i + 1];
    accumulators[2 * i + 1] = BEGIN[2 * i];
  }
  const stripesOfBlock = (SECRET_BYTES - STRIPE_BYTES) / 8;
  let stripe = 0;
  for (let at = 0; at < length - STRIPE_BYTES; at += STRIPE_BYTES) {
    accumulate(bytes, at, secret, 8 * stripe);
    if (++stripe === stripesOfBlock) {
      stripe = 0;
      scramble(secret, SECRET_BYTES - STRIPE_BYTES);
    }
  }
  accumulate(bytes, length - STRIPE_BYTES, secret, SECRET_BYTES - STRIPE_BYTES - 7);
}

// r1:r0.
function merge(secret, secretAt, startHigh, startLow) {
  let sumHigh = startHigh, sumLow = startLow;
  for (let i = 0; i < 4; ++i) {
    const at = secretAt + 16 * i;
    multiplyAndFold(accumulators[4 * i + 1] ^ read32(secret, at + 4), accumulators[4 * i] ^ read32(secret, at),
                    accumulators[4 * i + 3] ^ read32(secret, at + 12), accumulators[4 * i + 2] ^ read32(secret, at + 8));
    add64(sumHigh, sumLow, r1, r0);
    sumHigh = r1;
    sumLow = r0;
  }
  avalanche(sumHigh, sumLow);
}

// r1:r0 = length * a prime. A length may be above 2^32.
const multiplyLength = (length, primeHigh, primeLow) =>
  multiply64(Math.floor(length / 0x100000000), length | 0, primeHigh, primeLow);

function hashLong(bytes, length, secret, out) {
  accumulateAll(bytes, length, secret);
  multiplyLength(length, P1H, P1L);
  merge(secret, 11, r1, r0);
  out[0] = r0;
  out[1] = r1;
  multiplyLength(length, P2H, P2L);
  merge(secret, SECRET_BYTES - 64 - 11, ~r1, ~r0);
  out[2] = r0;
  out[3] = r1;
}

// The secret of a seed, for items that are longer than 240 bytes.
function secretOf(seedHigh, seedLow) {
  const secret = new Uint8Array(SECRET_BYTES);
  const view = new DataView(secret.buffer);
  for (let at = 0; at < SECRET_BYTES; at += 16) {
    add64(read32(SECRET, at + 4), read32(SECRET, at), seedHigh, seedLow);
    view.setInt32(at, r0, true);
    view.setInt32(at + 4, r1, true);
    subtract64(read32(SECRET, at + 12), read32(SECRET, at + 8), seedHigh, seedLow);
    view.setInt32(at + 8, r0, true);
    view.setInt32(at + 12, r1, true);
  }
  return secret;
}

/** XXH3 of 128 bits under one seed. */
export class Xxh3 {
  /** The seed as its upper and lower 32 bits. */
  constructor(seedHigh, seedLow) {
    this.seedHigh = seedHigh | 0;
    this.seedLow = seedLow | 0;
    this.secret = secretOf(this.seedHigh, this.seedLow);
  }

  /** Of the first `length` bytes: `out` gets four numbers of 32 bits, the lowest first. */
  hash(bytes, length, out) {
    if (length > 240) {
      hashLong(bytes, length, this.secret, out);
    } else if (length > 16) {
      hash17To240(bytes, length, this.seedHigh, this.seedLow, out);
    } else if (length > 8) {
      hash9To16(bytes, length, this.seedHigh, this.seedLow, out);
    } else if (length > 3) {
      hash4To8(bytes, length, this.seedHigh, this.seedLow, out);
    } else if (length > 0) {
      hash1To3(bytes, length, this.seedHigh, this.seedLow, out);
    } else {
      avalancheOfXxh64(read32(SECRET, 68) ^ read32(SECRET, 76) ^ this.seedHigh,
                       read32(SECRET, 64) ^ read32(SECRET, 72) ^ this.seedLow);
      out[0] = r0;
      out[1] = r1;
      avalancheOfXxh64(read32(SECRET, 84) ^ read32(SECRET, 92) ^ this.seedHigh,
                       read32(SECRET, 80) ^ read32(SECRET, 88) ^ this.seedLow);
      out[2] = r0;
      out[3] = r1;
    }
  }
}

// high():low() = XXH3 of 64 bits without a seed, of more than 16 bytes: the checksum of headers and files.
export function checksum(bytes) {
  const length = bytes.length;
  if (length > 240) {
    accumulateAll(bytes, length, SECRET);
    multiplyLength(length, P1H, P1L);
    return merge(SECRET, 11, r1, r0);
  }
  multiplyLength(length, P1H, P1L);
  let sumHigh = r1, sumLow = r0;
  const mix = (at, secretAt) => {
    mix16(bytes, at, SECRET, secretAt, 0, 0);
    add64(sumHigh, sumLow, r1, r0);
    sumHigh = r1;
    sumLow = r0;
  };
  if (length <= 128) {
    for (let i = (length - 1) >> 5; i >= 0; --i) {
      mix(16 * i, 32 * i);
      mix(length - 16 * (i + 1), 32 * i + 16);
    }
    return avalanche(sumHigh, sumLow);
  }
  for (let i = 0; i < 8; ++i) mix(16 * i, 16 * i);
  avalanche(sumHigh, sumLow);
  sumHigh = r1;
  sumLow = r0;
  for (let i = 8; i < length >> 4; ++i) mix(16 * i, 16 * (i - 8) + 3);
  mix(length - 16, LEAST_SECRET_BYTES - 17);
  return avalanche(sumHigh, sumLow);
}

// The upper 32 bits of a * b, of 32 bits each.
function upper32(a, b) {
  const aLow = a & 0xffff, aHigh = a >>> 16;
  const bLow = b & 0xffff, bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  return aHigh * bHigh + (middle >>> 16) + ((aLow * bHigh + (middle & 0xffff)) >>> 16);
}

/** floor(a n / 2^64), for a of 64 bits and n below 2^32: where in n places a hash falls. */
export function scale(aHigh, aLow, n) {
  const low = (Math.imul(aHigh, n) >>> 0) + upper32(aLow, n);
  return upper32(aHigh, n) + (low > 0xffffffff ? 1 : 0);
}
