// bitsieve.h: the filters of <bitsieve/filter.h> for C, and for what speaks C: libbitsieve.so.1. Functions, names and
// meanings of a number stay as they are as long as the number after ".so." does; later versions only add.
//
// Handles are opaque; each is freed by bitsieve_free. Items are bytes with a length, and may hold zeros.
//
// Threads: as <bitsieve/filter.h>: thread-safe, except that no other call may run beside bitsieve_freeze and
// bitsieve_free of the same filter.
//
// Errors: a function that can fail returns a bitsieve_status, and fills a bitsieve_error unless that is NULL. No C++
// exception leaves a function. Pointers are not NULL unless it says so: functions that return a status refuse such a
// NULL with BITSIEVE_INVALID_ARGUMENT.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BITSIEVE_API __attribute__((visibility("default")))

/// A filter.
typedef struct bitsieve_filter bitsieve_filter;

/// What a function returns that can fail.
typedef enum bitsieve_status {
  BITSIEVE_OK = 0,
  /// A parameter is outside of its range.
  BITSIEVE_INVALID_ARGUMENT = 1,
  /// Memory is refused, by the system or by the filter's limit.
  BITSIEVE_OUT_OF_MEMORY = 2,
  /// The file or the bytes are damaged, or no filter.
  BITSIEVE_CORRUPT = 3,
  /// The filter's type, or its being mapped or frozen, does not allow it; or its bytes are of a newer version.
  BITSIEVE_UNSUPPORTED = 4,
  /// The system could not read or write a file.
  BITSIEVE_IO = 5,
  /// The filter takes no further item.
  BITSIEVE_FULL = 6
} bitsieve_status;

/// What was wrong and what would be right, in words.
typedef struct bitsieve_error {
  /// Ends with a zero; cut if it is longer.
  char message[512];
} bitsieve_error;

/// An option that only some types take, by the words of BF.RESERVE: {"HASH", "sip"}.
typedef struct bitsieve_type_option {
  /// The option's name.
  const char* word;
  /// Its value.
  const char* value;
} bitsieve_type_option;

/// What BF.RESERVE takes. Begin with bitsieve_options_init, which sets the defaults.
typedef struct bitsieve_options {
  /// sizeof(bitsieve_options), as bitsieve_options_init sets it: later versions may have further fields.
  size_t size;
  /// blocked, classic, counting, cuckoo, window, fingerprint, ribbon or redisbloom.
  const char* type;
  /// Share of false positives that is requested, from 1e-9 to 0.25.
  double error_rate;
  /// Items that the filter is made for, from 1 to 2^30.
  uint64_t capacity;
  /// Capacity of a further sub-filter over that of the one before; 0: the filter does not grow; -1: the default.
  int64_t expansion;
  /// Between 0 and 1; 0: the default.
  double tightening_ratio;
  /// Whether `seed` is given; 0: a seed that cannot be foreseen.
  int has_seed;
  /// Filters to be merged have the same seed.
  uint64_t seed;
  /// Options of the type; NULL if there are none.
  const bitsieve_type_option* type_options;
  /// How many.
  size_t type_option_count;
  /// Most bytes that the filter may take; 0: no limit.
  uint64_t memory_limit_bytes;
} bitsieve_options;

/// What a filter is and holds, as of one moment.
typedef struct bitsieve_description {
  /// As in bitsieve_options; lives as long as the library is loaded.
  const char* type;
  /// As requested.
  double error_rate;
  /// Items, over all sub-filters.
  uint64_t capacity;
  /// Items counted as new; of a type that can remove, additions less removals.
  uint64_t items;
  /// Bytes that it takes; of a mapped filter, of its file.
  uint64_t size_bytes;
  /// Of its hash function.
  uint64_t seed;
  /// 1, and one more for each time that it grew.
  uint32_t sub_filters;
  /// Whether it is mapped from a file, and so cannot change.
  int is_mapped;
  /// That are known, of a filter of type blocked, classic or ribbon.
  uint32_t false_positives;
} bitsieve_description;

/// The version of the library, such as "1.0.0".
BITSIEVE_API const char* bitsieve_version(void);

/// Sets the defaults: a blocked filter for 100 items at 1% that grows.
/// @param options what to set.
/// @param size sizeof(bitsieve_options), as the program was compiled.
BITSIEVE_API void bitsieve_options_init(bitsieve_options* options, size_t size);

/// Makes an empty filter.
/// @param options what it is to be.
/// @param filter gets the filter; NULL on failure.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_make(const bitsieve_options* options, bitsieve_filter** filter,
                                           bitsieve_error* error);
/// Reads a filter of any type from a file, whole and verified.
/// @param path of the file.
/// @param filter gets the filter; NULL on failure.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_load(const char* path, bitsieve_filter** filter, bitsieve_error* error);
/// Maps a file to look items up in, in place: nothing is copied, and all processes share its pages. Types blocked,
/// classic, counting, cuckoo, fingerprint, and ribbon once frozen. What Filter::Map of <bitsieve/filter.h> says holds.
/// @param path of the file.
/// @param filter gets the filter; NULL on failure.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_map(const char* path, bitsieve_filter** filter, bitsieve_error* error);
/// Reads a filter from the bytes of a dump, as BF.DUMP of a server gives them.
/// @param bytes of the dump.
/// @param size how many.
/// @param filter gets the filter; NULL on failure.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_from_bytes(const void* bytes, size_t size, bitsieve_filter** filter,
                                                 bitsieve_error* error);
/// Frees a filter.
/// @param filter what to free; NULL: nothing happens.
BITSIEVE_API void bitsieve_free(bitsieve_filter* filter);

/// Adds an item.
/// @param filter to add to.
/// @param item its bytes; may be NULL if it is empty.
/// @param size how many.
/// @param added gets 1 if it is new, 0 if it was probably there; may be NULL.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_add(bitsieve_filter* filter, const void* item, size_t size, uint8_t* added,
                                          bitsieve_error* error);
/// Adds items in order: faster than one by one.
/// @param filter to add to.
/// @param items a pointer to the bytes of each.
/// @param sizes how many bytes each has.
/// @param count how many items.
/// @param added gets for each item 1 if it is new, else 0. After a failure, items with 1 were added.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_add_many(bitsieve_filter* filter, const void* const* items, const size_t* sizes,
                                               size_t count, uint8_t* added, bitsieve_error* error);
/// Whether an item was probably added.
/// @param filter to look into; NULL: the answer is 0.
/// @param item its bytes; may be NULL if it is empty.
/// @param size how many.
/// @return 1: probably; 0: definitely not.
BITSIEVE_API int bitsieve_may_contain(const bitsieve_filter* filter, const void* item, size_t size);
/// Looks items up together: faster than one by one.
/// @param filter to look into; NULL: all answers are 0.
/// @param items a pointer to the bytes of each.
/// @param sizes how many bytes each has.
/// @param count how many items.
/// @param present gets for each item 1 if it was probably added, else 0.
BITSIEVE_API void bitsieve_may_contain_many(const bitsieve_filter* filter, const void* const* items,
                                            const size_t* sizes, size_t count, uint8_t* present);
/// Takes one addition of an item back. Only what was added may be removed.
/// @param filter to remove from.
/// @param item its bytes; may be NULL if it is empty.
/// @param size how many.
/// @param removed gets 1 if it was removed, 0 if it is not there; may be NULL.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_remove(bitsieve_filter* filter, const void* item, size_t size, uint8_t* removed,
                                             bitsieve_error* error);
/// Notes that an item is a false positive: bitsieve_may_contain is 0 for it from now on, until it is added. Only what
/// was never added may be noted. What Filter::RecordFalsePositive of <bitsieve/filter.h> says holds.
/// @param filter of type blocked, classic or ribbon.
/// @param item its bytes; may be NULL if it is empty.
/// @param size how many.
/// @param noted gets 1 if it was noted, 0 if bitsieve_may_contain is 0 anyway; may be NULL.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_note_false_positive(bitsieve_filter* filter, const void* item, size_t size,
                                                          uint8_t* noted, bitsieve_error* error);
/// How often an item was added, less removals; too high at times.
/// @param filter to look into.
/// @param item its bytes; may be NULL if it is empty.
/// @param size how many.
/// @param count gets the number.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_count(const bitsieve_filter* filter, const void* item, size_t size,
                                            uint64_t* count, bitsieve_error* error);
/// Adds all that another filter holds, of the same type, seed, error rate and capacity.
/// @param filter to add to.
/// @param other what to add.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_merge(bitsieve_filter* filter, const bitsieve_filter* other,
                                            bitsieve_error* error);
/// Turns a ribbon filter that collects items into its smallest form, which takes no further ones.
/// @param filter to freeze.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_freeze(bitsieve_filter* filter, bitsieve_error* error);

/// Writes a filter to a file, which appears when it is whole and on the disk; one that has the name is replaced.
/// @param filter to write.
/// @param path of the file.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_save(const bitsieve_filter* filter, const char* path, bitsieve_error* error);
/// The same bytes in memory, for BF.RESTORE of a server and bitsieve_from_bytes.
/// @param filter to write.
/// @param bytes gets the bytes, to be freed by bitsieve_free_bytes; NULL on failure.
/// @param size gets how many.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_to_bytes(const bitsieve_filter* filter, void** bytes, size_t* size,
                                               bitsieve_error* error);
/// Frees what bitsieve_to_bytes gave.
/// @param bytes what to free; NULL: nothing happens.
BITSIEVE_API void bitsieve_free_bytes(void* bytes);
/// Reads the whole file of a mapped filter and checks its checksum.
/// @param filter to verify.
/// @param error gets what was wrong; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_verify(const bitsieve_filter* filter, bitsieve_error* error);
/// What a filter is and holds.
/// @param filter to describe.
/// @param description gets it.
/// @param size sizeof(bitsieve_description), as the program was compiled: later versions may have further fields.
BITSIEVE_API bitsieve_status bitsieve_describe(const bitsieve_filter* filter, bitsieve_description* description,
                                               size_t size);

#ifdef __cplusplus
}
#endif
