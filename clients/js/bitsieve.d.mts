// The types of bitsieve.mjs, whose comments have the details.

/** An item: a string, of which the UTF-8 bytes are taken, or bytes. */
export type Item = string | Uint8Array;

/** What a filter is and holds. */
export interface Description {
  /** Filter type. */
  readonly type: 'blocked' | 'cuckoo' | 'ribbon';
  /** Requested share of false positives, between 0 and 1. */
  readonly errorRate: number;
  /** Number of items that all sub-filters together are made for. */
  readonly capacity: number;
  /** Number of items that were counted as new. */
  readonly items: number;
  /** 1, and one more for each time that the filter grew. */
  readonly subFilters: number;
  /** Length of the dump in bytes. */
  readonly sizeBytes: number;
  /** Number of known false positives. */
  readonly falsePositives: number;
}

/** Thrown for bytes that hold no readable filter. The message says what is wrong with them, and what would be right. */
export class FilterError extends Error {
  get name(): 'FilterError';
}

/** A filter to look items up in. */
export class Filter {
  private constructor();

  /**
   * Makes a filter of the bytes of a dump, which must stay as they are.
   * @throws {FilterError} if the bytes are no dump, are damaged, or hold a filter of a type or version that is not read
   */
  static fromBytes(source: ArrayBuffer | ArrayBufferView): Filter;

  /**
   * Looks an item up. True: it was probably added; false: it definitely was not.
   * @throws {TypeError} if the item is neither a string nor a Uint8Array
   * @throws {FilterError} if the filter's bytes were transferred elsewhere
   */
  mayContain(item: Item): boolean;

  /**
   * Looks many items up, each as mayContain() does, and returns an answer for each in their order.
   * @throws {TypeError} if it is given one item, or something that is none
   * @throws {FilterError} if the filter's bytes were transferred elsewhere
   */
  mayContainMany(items: Iterable<Item> & object): boolean[];

  /** Returns what the filter is and holds. */
  describe(): Description;

  /**
   * Reads all bytes of the dump and checks their checksum.
   * @throws {FilterError} if they are damaged, or were transferred elsewhere
   */
  verify(): void;
}
