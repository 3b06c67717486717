// What TypeScript makes of programs that use the JavaScript reader; javascript_types_test.py runs tsc on it, with the
// reader both as a package and next to it. A line that is to be refused says so, and tsc complains if it is not.
import { Description, Filter, FilterError, FollowedFilter, Item } from 'bitsieve';
import { Filter as SameFilter } from './bitsieve.mjs';

const bytes = new Uint8Array(100);
const filter: Filter = Filter.fromBytes(bytes);
const sameFilter: SameFilter = SameFilter.fromBytes(bytes.buffer);
const items: Item[] = ['alice', bytes];
const leftMs: number = filter.timeToLive('alice');
const found: boolean = leftMs > 0 || filter.mayContain('alice') && sameFilter.mayContain(bytes);
const answers: boolean[] = [...filter.mayContainMany(items), ...filter.mayContainMany(new Set(['bob'])), found];
const description: Description = filter.describe();
const sum: number = description.errorRate + description.capacity + description.items + description.subFilters +
  description.sizeBytes + description.falsePositives + answers.length;
const isRibbon: boolean = description.type === 'ribbon' || description.type === 'expiring';
filter.verify();
const isMade: boolean = filter.applyChanges(bytes) && filter.applyChanges(bytes.buffer);
const followed: FollowedFilter = await Filter.follow(new URL('http://127.0.0.1:9379/filters/seen'), {
  interval: 100,
  headers: { Authorization: 'Basic eDp5' },
  onError: (error: Error) => error.message,
});
const age: number = isMade && followed.mayContain('alice') ? followed.staleness() : followed.position.length;
const sameAnswers: boolean[] = followed.mayContainMany(items);
followed.close();
try {
  Filter.fromBytes(new DataView(bytes.buffer));
} catch (error) {
  if (!(error instanceof FilterError)) throw error;
  const message: string = error.message + error.name + sum + isRibbon + age + sameAnswers;
  throw new Error(message);
}

// @ts-expect-error
new Filter(bytes);
// @ts-expect-error
Filter.fromBytes('a path');
// @ts-expect-error
filter.mayContain(5);
// @ts-expect-error
filter.mayContainMany('alice');
// @ts-expect-error
filter.mayContainMany(bytes);
// @ts-expect-error
description.items = 5;
// @ts-expect-error
filter.add('alice');
// @ts-expect-error
Filter.follow('/filters/seen', { interval: '100' });
// @ts-expect-error
followed.position = '';
