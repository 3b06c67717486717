// A copy of a server's filter that follows its changes over HTTP: docs/follow.md. For bitsieve.mjs.

import { Filter, FilterError } from './bitsieve.mjs';

const MAX_CHANGES = 65536;  // of one response
const MAX_PAUSE_MS = 60_000;
const MAX_DOUBLINGS = 6;

function requireOption(holds, message) {
  if (!holds) throw new TypeError(message);
}

// Returns whether a position is another one or after it, in the same history.
function isAtLeast(position, other) {
  const [history, changes] = position.split('-'), [otherHistory, otherChanges] = other.split('-');
  return history === otherHistory && Number(changes) >= Number(otherChanges);
}

function positionOf(response, url) {
  const position = response.headers.get('Bitsieve-Position');
  if (position !== null) return position;
  throw new FilterError(`${url}: the response has no header Bitsieve-Position; is this a filter of the admin port?`);
}

/** A copy of a filter that follows the changes of the server's. Filter.follow() makes it. */
export class FollowedFilter {
  #url;
  #interval;
  #headers;
  #onError;
  #filter;
  #position;
  #tag;  // of the dump, as long as the copy is as the dump
  #upToDateAt = -Infinity;
  #failures = 0;
  #timer;
  #closing = new AbortController();

  /**
   * Does what Filter.follow() does.
   * @param {string | URL} url where the admin port serves the filter
   * @param {{interval?: number, headers?: Record<string, string>, onError?: (error: Error) => void}} options as there
   * @returns {Promise<FollowedFilter>} the copy
   */
  static async open(url, { interval = 1000, headers = {}, onError = () => {} } = {}) {
    requireOption(Number.isFinite(interval) && interval > 0, 'interval must be a number of milliseconds above 0');
    requireOption(!/[?#]/.test(String(url)), 'the URL of a filter has neither ? nor #: write them as %3F and %23');
    const followed = new FollowedFilter(String(url), interval, headers, onError);
    await followed.#load();
    await followed.#update();
    followed.#schedule();
    return followed;
  }

  constructor(url, interval, headers, onError) {
    this.#url = url;
    this.#interval = interval;
    this.#headers = headers;
    this.#onError = onError;
  }

  /**
   * Looks up an item in the copy.
   * @param {string | Uint8Array} item as for Filter
   * @returns {boolean} true if it was probably added, false if it definitely was not, as of staleness() ago
   */
  mayContain(item) {
    return this.#filter.mayContain(item);
  }

  /**
   * Looks up many items, each as mayContain() does.
   * @param {Iterable<string | Uint8Array>} items the items
   * @returns {boolean[]} the results in the same order
   */
  mayContainMany(items) {
    return this.#filter.mayContainMany(items);
  }

  /**
   * Returns the time for which an item will be found, as Filter's timeToLive() does.
   * @param {string | Uint8Array} item as for Filter
   * @returns {number} the time in milliseconds; -2 if the item is not there
   */
  timeToLive(item) {
    return this.#filter.timeToLive(item);
  }

  /**
   * Describes the copy, as Filter's describe() does.
   * @returns {object} the description
   */
  describe() {
    return this.#filter.describe();
  }

  /**
   * Returns how old the answers may be: the copy has all changes that were made before.
   * @returns {number} the time in milliseconds; Infinity if the copy was never known to have all changes
   */
  staleness() {
    return performance.now() - this.#upToDateAt;
  }

  /** The position of the copy in the history of the filter. */
  get position() {
    return this.#position;
  }

  /** Ends the requests. The copy stays as it is. */
  close() {
    clearTimeout(this.#timer);
    this.#closing.abort();
  }

  // Gives a response whose status is good, or one of `others`.
  async #get(url, headers, others) {
    const response = await fetch(url, {
      cache: 'no-cache',
      headers: { ...this.#headers, ...headers },
      signal: this.#closing.signal,
    });
    if (response.ok || others.includes(response.status)) return response;
    throw new FilterError(`${url}: ${response.status} ${(await response.text()).trim()}`);
  }

  // Reads the whole filter. The copy that is there is used until then, and if that fails.
  async #load() {
    const response = await this.#get(this.#url, this.#tag === undefined ? {} : { 'If-None-Match': this.#tag }, [304]);
    const position = positionOf(response, this.#url);
    if (response.status !== 304) {
      const filter = Filter.fromBytes(await response.arrayBuffer());
      filter.verify();
      this.#filter = filter;
      this.#tag = response.headers.get('ETag') ?? undefined;
    }
    this.#position = position;
  }

  // Reads what has changed. A filter that cannot make these changes is read again, and perhaps from a cache, which may
  // have an older one than the changes lead to: then the next request for changes shows what is missing.
  async #update() {
    const begin = performance.now();
    let position = this.#position, isApplied = true, hasMore = true;
    while (hasMore) {
      const url = `${this.#url}/changes?since=${position}&count=${MAX_CHANGES}`;
      const response = await this.#get(url, {}, [410]);
      if (response.status === 410) return this.#load();
      const runs = await response.arrayBuffer();
      position = positionOf(response, url);
      hasMore = response.headers.get('Bitsieve-More') === '1';
      isApplied = isApplied && this.#apply(runs, position);
    }
    if (!isApplied) await this.#load();
    if (isApplied || isAtLeast(this.#position, position)) this.#upToDateAt = begin;
  }

  #apply(runs, position) {
    if (runs.byteLength > 0) {
      this.#tag = undefined;
      if (!this.#filter.applyChanges(runs)) return false;
    }
    this.#position = position;
    return true;
  }

  #schedule() {
    if (this.#closing.signal.aborted) return;
    const pause = this.#interval * 2 ** Math.min(this.#failures, MAX_DOUBLINGS);
    this.#timer = setTimeout(() => this.#run(), Math.max(this.#interval, Math.min(pause, MAX_PAUSE_MS)));
    this.#timer.unref?.();  // in Node, it does not keep the process alive
  }

  async #run() {
    try {
      await this.#update();
      this.#failures = 0;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      ++this.#failures;
      this.#onError(error);
    }
    this.#schedule();
  }
}
