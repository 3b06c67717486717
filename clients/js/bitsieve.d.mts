// The types of bitsieve.mjs, whose comments have the details.

/** An item: a string, which is converted to its UTF-8 bytes, or bytes. */
export type Item = string | Uint8Array;

/** The parameters and the state of a filter. */
export interface Description {
  /** Filter type. */
  readonly type: 'blocked' | 'classic' | 'cuckoo' | 'expiring' | 'ribbon';
  /** Requested error rate, between 0 and 1. */
  readonly errorRate: number;
  /** Number of items that all sub-filters together are made for. */
  readonly capacity: number;
  /** Number of items that were counted as new. */
  readonly items: number;
  /** Number of sub-filters: 1, and one more for each time that the filter grew. */
  readonly subFilters: number;
  /** Length of the dump in bytes. */
  readonly sizeBytes: number;
  /** Number of known false positives. */
  readonly falsePositives: number;
}

/** Thrown for bytes that are not a readable filter. The message says what is wrong, and what would be right. */
export class FilterError extends Error {
  get name(): 'FilterError';
}

/** How a filter is followed. */
export interface FollowOptions {
  /** Number of milliseconds between two requests for changes; 1000 if it is not given. */
  readonly interval?: number;
  /** Headers of all requests, such as Authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called when a request fails, which is then repeated after longer and longer pauses. */
  readonly onError?: (error: Error) => void;
}

/** A filter in which items can be looked up. */
export class Filter {
  private constructor();

  /**
   * Makes a filter from the bytes of a dump, which must not change afterwards.
   * @throws {FilterError} if the bytes are not a dump, are damaged, or contain a filter of an unsupported type or version
   */
  static fromBytes(source: ArrayBuffer | ArrayBufferView): Filter;

  /**
   * Makes a copy of a filter of a server, which follows its changes over HTTP, and waits until it is there.
   * @throws {FilterError} if the server refuses the request, or the filter's type cannot be read
   * @throws {TypeError} if the server cannot be reached
   */
  static follow(url: string | URL, options?: FollowOptions): Promise<FollowedFilter>;

  /**
   * Looks up an item. Returns true if it was probably added, and false if it definitely was not.
   * @throws {TypeError} if the item is neither a string nor a Uint8Array
   * @throws {FilterError} if the filter's bytes were transferred elsewhere
   */
  mayContain(item: Item): boolean;

  /**
   * Returns the milliseconds for which an item of a filter of type expiring will be found; -2 if it is not there.
   * @throws {TypeError} if the item is neither a string nor a Uint8Array
   * @throws {FilterError} if the items of the filter's type do not expire, or its bytes were transferred elsewhere
   */
  timeToLive(item: Item): number;

  /**
   * Looks up many items, each as mayContain() does, and returns the results in the same order.
   * @throws {TypeError} if the argument is a single item, or contains something that is not an item
   * @throws {FilterError} if the filter's bytes were transferred elsewhere
   */
  mayContainMany(items: Iterable<Item> & object): boolean[];

  /** Returns the parameters and the state of the filter. */
  describe(): Description;

  /**
   * Makes changes to the filter that were made to the server's, as BF.CHANGES returns them. Returns false if it takes
   * another dump: the type is neither blocked nor classic, the filter has grown, or there are other changes than
   * additions.
   * @throws {FilterError} if these are not changes, or the filter's bytes were transferred elsewhere
   */
  applyChanges(source: ArrayBuffer | ArrayBufferView): boolean;

  /**
   * Reads all bytes of the dump and checks their checksum.
   * @throws {FilterError} if they are damaged, were changed by applyChanges(), or were transferred elsewhere
   */
  verify(): void;
}

/** A copy of a filter that follows the changes of the server's. Filter.follow() makes it. */
export class FollowedFilter {
  private constructor();

  /** Does what Filter.follow() does. */
  static open(url: string | URL, options?: FollowOptions): Promise<FollowedFilter>;

  /** Looks up an item in the copy. */
  mayContain(item: Item): boolean;

  /** Looks up many items, each as mayContain() does, and returns the results in the same order. */
  mayContainMany(items: Iterable<Item> & object): boolean[];

  /** Returns the milliseconds for which an item of a filter of type expiring will be found; -2 if it is not there. */
  timeToLive(item: Item): number;

  /** Returns the parameters and the state of the copy. */
  describe(): Description;

  /** Returns how old the answers may be, in milliseconds; Infinity if that was never known. */
  staleness(): number;

  /** The position of the copy in the history of the filter. */
  readonly position: string;

  /** Ends the requests. The copy stays as it is. */
  close(): void;
}
