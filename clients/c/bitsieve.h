// bitsieve.h: the filters of <bitsieve/filter.h> for C and for languages that can call C: libbitsieve.so.1. As long as
// the number after ".so." stays the same, later versions only add functions and names, and change none.
//
// Handles are opaque; bitsieve_free frees them. Items are bytes with a length, and may contain zeros.
//
// Threads: as in <bitsieve/filter.h>: thread-safe, except that no other call may run at the same time as
// bitsieve_freeze or bitsieve_free of the same filter.
//
// Errors: a function that can fail returns a bitsieve_status, and fills a bitsieve_error unless that is NULL. No C++
// exception leaves a function. Pointers must not be NULL unless stated otherwise: functions that return a status
// refuse NULL with BITSIEVE_INVALID_ARGUMENT.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BITSIEVE_API __attribute__((visibility("default")))

/// A filter.
typedef struct bitsieve_filter bitsieve_filter;

/// The result of a function that can fail.
typedef enum bitsieve_status {
  BITSIEVE_OK = 0,
  /// A parameter is outside its range.
  BITSIEVE_INVALID_ARGUMENT = 1,
  /// The system or the filter's limit refused memory.
  BITSIEVE_OUT_OF_MEMORY = 2,
  /// The file or the bytes are damaged, or are not a filter.
  BITSIEVE_CORRUPT = 3,
  /// A filter of this type, or one that is mapped or frozen, does not support it; or its bytes are of a newer version.
  BITSIEVE_UNSUPPORTED = 4,
  /// The system could not read or write a file.
  BITSIEVE_IO = 5,
  /// The filter is full and accepts no further items.
  BITSIEVE_FULL = 6
} bitsieve_status;

/// An error message: what was wrong, and what would be right.
typedef struct bitsieve_error {
  /// Ends with a zero; a longer message is truncated.
  char message[512];
} bitsieve_error;

/// An option that only some types have, in the words of BF.RESERVE: {"HASH", "sip"}.
typedef struct bitsieve_type_option {
  /// The option's name.
  const char* word;
  /// Its value.
  const char* value;
} bitsieve_type_option;

/// The options of BF.RESERVE. Call bitsieve_options_init first, which sets the defaults.
typedef struct bitsieve_options {
  /// sizeof(bitsieve_options), as bitsieve_options_init sets it: later versions may have further fields.
  size_t size;
  /// blocked, classic, counting, cuckoo, window, fingerprint, ribbon or redisbloom.
  const char* type;
  /// The requested error rate, from 1e-9 to 0.25.
  double error_rate;
  /// Number of items that the filter is made for, from 1 to 2^30.
  uint64_t capacity;
  /// Capacity of a further sub-filter divided by that of the previous one; 0: the filter does not grow; -1: the
  /// default.
  int64_t expansion;
  /// Tightening ratio, between 0 and 1; 0: the default.
  double tightening_ratio;
  /// Whether `seed` is set; 0: a random seed is chosen.
  int has_seed;
  /// Seed of the hash function. Filters can be merged only if their seeds are equal.
  uint64_t seed;
  /// Options of the type; NULL if there are none.
  const bitsieve_type_option* type_options;
  /// Number of these options.
  size_t type_option_count;
  /// Maximum number of bytes that the filter may take; 0: no limit.
  uint64_t memory_limit_bytes;
} bitsieve_options;

/// The parameters and the state of a filter, as of one moment.
typedef struct bitsieve_description {
  /// Filter type, as in bitsieve_options; valid as long as the library is loaded.
  const char* type;
  /// Requested error rate.
  double error_rate;
  /// Number of items that all sub-filters together are made for.
  uint64_t capacity;
  /// Number of items counted as new; for types that can remove items, additions minus removals.
  uint64_t items;
  /// Size of the filter in bytes; for a mapped filter, that of its file.
  uint64_t size_bytes;
  /// Seed of the hash function.
  uint64_t seed;
  /// Number of sub-filters: 1, and one more for each time that the filter grew.
  uint32_t sub_filters;
  /// Whether the filter is mapped from a file, and therefore cannot change.
  int is_mapped;
  /// Number of known false positives; types blocked, classic and ribbon can have some.
  uint32_t false_positives;
} bitsieve_description;

/// The way in which a bitsieve_array holds its items.
typedef enum bitsieve_array_layout {
  /// Items of `width` bytes each, one after the other; all of these bytes belong to the item.
  BITSIEVE_FIXED_WIDTH = 0,
  /// As BITSIEVE_FIXED_WIDTH, but zeros at the end of an item do not belong to it: strings of NumPy's dtype S.
  BITSIEVE_PADDED = 1,
  /// Items of any length: item i has the bytes of `data` from offsets[i] to offsets[i + 1], which are of type int32_t:
  /// Arrow's layouts binary and string.
  BITSIEVE_OFFSETS_32 = 2,
  /// As BITSIEVE_OFFSETS_32, with offsets of type int64_t: Arrow's layouts large binary and large string.
  BITSIEVE_OFFSETS_64 = 3,
  /// Items of any length, of which `data` has views of 16 bytes: Arrow's layouts binary view and string view.
  BITSIEVE_VIEWS = 4
} bitsieve_array_layout;

/// Many items in one place, as NumPy and Arrow hold them. Set `size`, and every field that is not named to 0:
/// {.size = sizeof(bitsieve_array), .data = numbers, .width = 8, .count = 1000}.
typedef struct bitsieve_array {
  /// sizeof(bitsieve_array): later versions may have further fields.
  size_t size;
  /// How `data` is to be read: a bitsieve_array_layout.
  int layout;
  /// The bytes of the items; may be NULL if all of them are empty.
  const void* data;
  /// The offsets into `data`, at any address; NULL for layouts without.
  const void* offsets;
  /// Number of bytes of each item; 0 for layouts with offsets or views.
  size_t width;
  /// A bit for each item, the lowest bit of each byte first: 0 means that it is null. NULL: no item is null.
  const uint8_t* validity;
  /// Index of the first item, in `data`, `offsets` and `validity`, for part of a larger array.
  size_t first;
  /// Number of items from there on.
  size_t count;
  /// The buffers that views name, in which the items of more than 12 bytes are; NULL for other layouts.
  const void* const* buffers;
  /// Number of bytes of each buffer.
  const int64_t* buffer_sizes;
  /// Number of buffers.
  size_t buffer_count;
} bitsieve_array;

/// Returns the version of the library, such as "1.0.0".
BITSIEVE_API const char* bitsieve_version(void);

/// Sets the defaults: a blocked filter for 100 items at 1% that grows.
/// @param options the options to set.
/// @param size sizeof(bitsieve_options) in the compiled program.
BITSIEVE_API void bitsieve_options_init(bitsieve_options* options, size_t size);

/// Makes an empty filter.
/// @param options the options of the filter.
/// @param filter receives the filter; NULL on failure.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_make(const bitsieve_options* options, bitsieve_filter** filter,
                                           bitsieve_error* error);
/// Reads a filter of any type from a file into memory, and verifies it.
/// @param path the path of the file.
/// @param filter receives the filter; NULL on failure.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_load(const char* path, bitsieve_filter** filter, bitsieve_error* error);
/// Maps a file, in which items are then looked up in place: nothing is copied, and all processes share its pages.
/// Supports the types blocked, classic, counting, cuckoo, fingerprint, and ribbon once frozen. The comment of
/// Filter::Map in <bitsieve/filter.h> applies.
/// @param path the path of the file.
/// @param filter receives the filter; NULL on failure.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_map(const char* path, bitsieve_filter** filter, bitsieve_error* error);
/// Reads a filter from the bytes of a dump, as a server's BF.DUMP returns them.
/// @param bytes the bytes of the dump.
/// @param size the number of bytes.
/// @param filter receives the filter; NULL on failure.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_from_bytes(const void* bytes, size_t size, bitsieve_filter** filter,
                                                 bitsieve_error* error);
/// Frees a filter.
/// @param filter the filter to free; NULL is ignored.
BITSIEVE_API void bitsieve_free(bitsieve_filter* filter);

/// Adds an item.
/// @param filter the filter to add to.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size the number of bytes.
/// @param added receives 1 if the item is new, 0 if it was probably there; may be NULL.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_add(bitsieve_filter* filter, const void* item, size_t size, uint8_t* added,
                                          bitsieve_error* error);
/// Adds items in order, which is faster than adding them one by one.
/// @param filter the filter to add to.
/// @param items a pointer to the bytes of each item.
/// @param sizes the number of bytes of each item.
/// @param count the number of items.
/// @param added receives for each item 1 if it is new, else 0. After a failure, items with 1 were added.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_add_many(bitsieve_filter* filter, const void* const* items, const size_t* sizes,
                                               size_t count, uint8_t* added, bitsieve_error* error);
/// Returns whether an item was probably added.
/// @param filter the filter to search; if NULL, the function returns 0.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size the number of bytes.
/// @return 1: probably; 0: definitely not.
BITSIEVE_API int bitsieve_may_contain(const bitsieve_filter* filter, const void* item, size_t size);
/// Looks up items together, which is faster than one by one.
/// @param filter the filter to search; if NULL, all results are 0.
/// @param items a pointer to the bytes of each item.
/// @param sizes the number of bytes of each item.
/// @param count the number of items.
/// @param present receives for each item 1 if it was probably added, else 0.
BITSIEVE_API void bitsieve_may_contain_many(const bitsieve_filter* filter, const void* const* items,
                                            const size_t* sizes, size_t count, uint8_t* present);
/// Adds the items of an array in order. No item is copied. Nulls are not added.
/// @param filter the filter to add to.
/// @param items the items, which must not change during the call.
/// @param added receives for each item 1 if it is new, else 0, and for each null 0. After a failure, items with 1 were
/// added.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_add_array(bitsieve_filter* filter, const bitsieve_array* items, uint8_t* added,
                                                bitsieve_error* error);
/// Looks up the items of an array. No item is copied.
/// @param filter the filter to search.
/// @param items the items, which must not change during the call.
/// @param present receives for each item 1 if it was probably added, else 0, and for each null 0.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_may_contain_array(const bitsieve_filter* filter, const bitsieve_array* items,
                                                        uint8_t* present, bitsieve_error* error);
/// Removes one addition of an item. Remove only items that were added.
/// @param filter the filter to remove from.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size the number of bytes.
/// @param removed receives 1 if the item was removed, 0 if it is not there; may be NULL.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_remove(bitsieve_filter* filter, const void* item, size_t size, uint8_t* removed,
                                             bitsieve_error* error);
/// Adds an item that expires after a time, to a filter of type expiring. If it was probably there, it expires at the
/// later one of the two times, unless the filter has the option RENEW no.
/// @param filter the filter to add to.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size the number of bytes.
/// @param time_to_live_ms the time in milliseconds, from 1 to the filter's TTL.
/// @param added receives 1 if the item is new, 0 if it was probably there; may be NULL.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_add_for(bitsieve_filter* filter, const void* item, size_t size,
                                              uint64_t time_to_live_ms, uint8_t* added, bitsieve_error* error);
/// Gets the time for which an item will be found.
/// @param filter a filter of type expiring.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size the number of bytes.
/// @param left_ms receives the time in milliseconds; -2 if the item is not there.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_time_to_live(const bitsieve_filter* filter, const void* item, size_t size,
                                                   int64_t* left_ms, bitsieve_error* error);
/// Lets an item, if it is there, expire a whole TTL of the filter from now.
/// @param filter a filter of type expiring.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size the number of bytes.
/// @param touched receives 1 if the item was there, else 0; may be NULL.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_touch(bitsieve_filter* filter, const void* item, size_t size, uint8_t* touched,
                                            bitsieve_error* error);
/// Records an item as a known false positive: bitsieve_may_contain returns 0 for it until it is added. Record only
/// items that were never added. The comment of Filter::RecordFalsePositive in <bitsieve/filter.h> applies.
/// @param filter a filter of type blocked, classic or ribbon.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size the number of bytes.
/// @param noted receives 1 if the item was recorded, 0 if bitsieve_may_contain returns 0 anyway; may be NULL.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_note_false_positive(bitsieve_filter* filter, const void* item, size_t size,
                                                          uint8_t* noted, bitsieve_error* error);
/// Gets how often an item was added minus how often it was removed; the number may be too high.
/// @param filter the filter to search.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size the number of bytes.
/// @param count receives the number.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_count(const bitsieve_filter* filter, const void* item, size_t size,
                                            uint64_t* count, bitsieve_error* error);
/// Adds all items of another filter, which must have the same type, seed, error rate and capacity.
/// @param filter the filter to add to.
/// @param other the filter whose items to add.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_merge(bitsieve_filter* filter, const bitsieve_filter* other,
                                            bitsieve_error* error);
/// Makes a filter smaller, for fewer items than it was made for, without losing any. Filters of the types blocked and
/// classic that have not grown can be folded, if blocked from an error rate of 0.00025 on. No other call may use the
/// filter at the same time.
/// @param filter the filter to fold.
/// @param capacity the number of items to have room for, those that are there included.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_fold(bitsieve_filter* filter, uint64_t capacity, bitsieve_error* error);
/// Converts a ribbon filter that collects items into its smallest form, which accepts no further items.
/// @param filter the filter to freeze.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_freeze(bitsieve_filter* filter, bitsieve_error* error);

/// Writes a filter to a file, which appears when it is complete and durable; an existing file is replaced.
/// @param filter the filter to write.
/// @param path the path of the file.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_save(const bitsieve_filter* filter, const char* path, bitsieve_error* error);
/// Returns the bytes that bitsieve_save writes, for a server's BF.RESTORE and for bitsieve_from_bytes.
/// @param filter the filter to write.
/// @param bytes receives the bytes, to be freed by bitsieve_free_bytes; NULL on failure.
/// @param size receives their number.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_to_bytes(const bitsieve_filter* filter, void** bytes, size_t* size,
                                               bitsieve_error* error);
/// Frees the bytes that bitsieve_to_bytes returned.
/// @param bytes the bytes to free; NULL is ignored.
BITSIEVE_API void bitsieve_free_bytes(void* bytes);
/// Reads the whole file of a mapped filter and checks its checksum.
/// @param filter the filter to verify.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_verify(const bitsieve_filter* filter, bitsieve_error* error);
/// Gets the parameters and the state of a filter.
/// @param filter the filter to describe.
/// @param description receives the description.
/// @param size sizeof(bitsieve_description) in the compiled program: later versions may have further fields.
BITSIEVE_API bitsieve_status bitsieve_describe(const bitsieve_filter* filter, bitsieve_description* description,
                                               size_t size);

/// A copy of a server's filter in this process, which a thread keeps up to date; docs/follow.md has the promises.
typedef struct bitsieve_follower bitsieve_follower;

/// How a filter is followed. Call bitsieve_follow_options_init first, which sets the defaults.
typedef struct bitsieve_follow_options {
  /// sizeof(bitsieve_follow_options), as bitsieve_follow_options_init sets it: later versions may have further fields.
  size_t size;
  /// Milliseconds between two requests for changes; the default is 100.
  uint64_t interval_ms;
  /// Time limit in milliseconds of each step: connecting, and each reply; the default is 5000.
  uint64_t timeout_ms;
  /// A file in which the copy is kept, at the end and once a minute, so that a program that starts again needs only the
  /// changes since; NULL: none.
  const char* cache_path;
  /// Maximum number of bytes that the copy may take; 0: no limit.
  uint64_t memory_limit_bytes;
} bitsieve_follow_options;

/// The state of a follower, as of one moment.
typedef struct bitsieve_follower_state {
  /// Milliseconds since the copy was last known to be current: no item that was added before then is missed.
  int64_t staleness_ms;
  /// Number of times that the whole filter was read from the server.
  uint64_t dumps_read;
  /// The copy's position in the server's history of the filter, as BF.FOLLOW and BF.CHANGES return it.
  char position[64];
  /// Why the copy cannot be brought up to date at the moment; empty if it can. It is tried again until it can.
  char trouble[512];
} bitsieve_follower_state;

/// Sets the defaults.
/// @param options the options to set.
/// @param size sizeof(bitsieve_follow_options) in the compiled program.
BITSIEVE_API void bitsieve_follow_options_init(bitsieve_follow_options* options, size_t size);
/// Makes a copy of a server's filter, from the cache file if there is a whole one, else from the server, and begins to
/// follow it with a thread of its own.
/// @param url the server: redis://[user:password@]host[:port], bitsieve:// likewise, or unix:///path.
/// @param key the name of the filter.
/// @param key_size number of bytes of the name.
/// @param options how to follow; NULL: the defaults.
/// @param follower receives the follower; NULL on failure.
/// @param error receives the error message; may be NULL.
/// @return BITSIEVE_INVALID_ARGUMENT for a malformed URL, BITSIEVE_UNSUPPORTED for a URL with TLS; BITSIEVE_IO if there
/// is no cache file and the server cannot be reached or has no such filter; BITSIEVE_OUT_OF_MEMORY.
BITSIEVE_API bitsieve_status bitsieve_follow(const char* url, const void* key, size_t key_size,
                                             const bitsieve_follow_options* options, bitsieve_follower** follower,
                                             bitsieve_error* error);
/// Ends following, writes the cache file, if there is one, and frees the copy. No other call may use it.
/// @param follower the follower to free; NULL is ignored.
BITSIEVE_API void bitsieve_follower_free(bitsieve_follower* follower);
/// Looks up an item in the copy; takes no lock, and never waits.
/// @param follower the follower; NULL has no items.
/// @param item the bytes of the item; may be NULL if it is empty.
/// @param size number of bytes of the item.
/// @return 1 if the item was probably added before the copy's position, 0 if it definitely was not.
BITSIEVE_API int bitsieve_follower_may_contain(const bitsieve_follower* follower, const void* item, size_t size);
/// Looks up the items of an array, as bitsieve_may_contain_array.
/// @param follower the follower.
/// @param items the items, which must not change during the call.
/// @param present receives for each item 1 if it was probably added, else 0, and for each null 0.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_follower_may_contain_array(const bitsieve_follower* follower,
                                                                 const bitsieve_array* items, uint8_t* present,
                                                                 bitsieve_error* error);
/// Gets the state of a follower.
/// @param follower the follower.
/// @param state receives the state.
/// @param size sizeof(bitsieve_follower_state) in the compiled program: later versions may have further fields.
BITSIEVE_API bitsieve_status bitsieve_follower_get_state(const bitsieve_follower* follower,
                                                         bitsieve_follower_state* state, size_t size);
/// Gets the parameters and the state of the copy.
/// @param follower the follower.
/// @param description receives the description.
/// @param size sizeof(bitsieve_description) in the compiled program.
BITSIEVE_API bitsieve_status bitsieve_follower_describe(const bitsieve_follower* follower,
                                                        bitsieve_description* description, size_t size);
/// Returns the copy as the bytes of a dump, which bitsieve_free_bytes frees.
/// @param follower the follower.
/// @param bytes receives the bytes; NULL on failure.
/// @param size receives their number.
/// @param error receives the error message; may be NULL.
BITSIEVE_API bitsieve_status bitsieve_follower_to_bytes(const bitsieve_follower* follower, void** bytes, size_t* size,
                                                        bitsieve_error* error);

#ifdef __cplusplus
}
#endif
