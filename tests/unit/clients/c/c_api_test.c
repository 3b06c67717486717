/* libbitsieve.so from C: what bitsieve.h promises, compiled by a C compiler.
 *   c_api_test FOLDER    an empty folder to write to */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/c/bitsieve.h"

static void Require(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "c_api_test.c:%d: not so: %s\n", line, what);
  exit(1);
}
#define REQUIRE(holds) Require((holds), #holds, __LINE__)

enum { kItems = 1000 };
static char texts[2 * kItems][16];
static const void* items[2 * kItems];
static size_t sizes[2 * kItems];

static bitsieve_filter* Make(const char* type, uint64_t seed) {
  bitsieve_options options;
  bitsieve_options_init(&options, sizeof options);
  options.type = type;
  options.capacity = kItems;
  options.has_seed = 1;
  options.seed = seed;
  bitsieve_filter* filter = NULL;
  bitsieve_error error;
  REQUIRE(bitsieve_make(&options, &filter, &error) == BITSIEVE_OK);
  REQUIRE(filter != NULL && error.message[0] == '\0');
  return filter;
}

static void AddsAndLooksUp(void) {
  bitsieve_filter* filter = Make("cuckoo", 1);
  uint8_t answers[2 * kItems];
  REQUIRE(bitsieve_add_many(filter, items, sizes, kItems, answers, NULL) == BITSIEVE_OK);
  int found = 0;
  for (int i = 0; i < kItems; ++i) found += answers[i];
  REQUIRE(found > kItems * 95 / 100);
  bitsieve_may_contain_many(filter, items, sizes, (size_t)2 * kItems, answers);
  for (int i = 0; i < kItems; ++i) REQUIRE(answers[i] == 1);
  found = 0;
  for (int i = kItems; i < 2 * kItems; ++i) {
    REQUIRE(answers[i] == bitsieve_may_contain(filter, items[i], sizes[i]));
    found += answers[i];
  }
  REQUIRE(found < kItems / 20);

  uint8_t changed = 7;
  REQUIRE(bitsieve_add(filter, "a\0b", 3, &changed, NULL) == BITSIEVE_OK && changed == 1);
  REQUIRE(bitsieve_add(filter, "a\0b", 3, NULL, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_add(filter, NULL, 0, NULL, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_may_contain(filter, NULL, 0) == 1);
  uint64_t count = 0;
  REQUIRE(bitsieve_count(filter, "a\0b", 3, &count, NULL) == BITSIEVE_OK && count == 2);
  REQUIRE(bitsieve_remove(filter, "a\0b", 3, &changed, NULL) == BITSIEVE_OK && changed == 1);
  REQUIRE(bitsieve_count(filter, "a\0b", 3, &count, NULL) == BITSIEVE_OK && count == 1);
  bitsieve_free(filter);
}

/* The answers to an array are those to its items one by one, and those of nulls are 0. */
static void RequireAnswers(const bitsieve_filter* filter, const bitsieve_array* array, const char* expected) {
  uint8_t answers[2 * kItems];
  bitsieve_error error;
  memset(answers, 7, sizeof answers);
  REQUIRE(bitsieve_may_contain_array(filter, array, answers, &error) == BITSIEVE_OK);
  for (size_t i = 0; i < array->count; ++i) REQUIRE(answers[i] == (expected[i] == '1'));
  REQUIRE(answers[array->count] == 7);
}

static void TakesArraysOfOneWidth(void) {
  bitsieve_filter* filter = Make("cuckoo", 1);
  uint8_t answers[2 * kItems];
  bitsieve_array padded = {sizeof padded, BITSIEVE_PADDED, texts, NULL, sizeof texts[0], NULL, 0, kItems, NULL, NULL, 0};
  REQUIRE(bitsieve_add_array(filter, &padded, answers, NULL) == BITSIEVE_OK);
  int added = 0;
  for (int i = 0; i < kItems; ++i) {
    REQUIRE(bitsieve_may_contain(filter, items[i], sizes[i]) == 1);
    added += answers[i];
  }
  REQUIRE(added > kItems * 95 / 100);
  padded.count = 2 * kItems - 1;
  uint8_t again[2 * kItems];
  REQUIRE(bitsieve_may_contain_array(filter, &padded, answers, NULL) == BITSIEVE_OK);
  bitsieve_may_contain_many(filter, items, sizes, padded.count, again);
  REQUIRE(memcmp(answers, again, padded.count) == 0);

  static const char rows[] = "ab\0cd\0\0\0\0x\0";
  REQUIRE(bitsieve_add(filter, "cd\0", 3, NULL, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_add(filter, "", 0, NULL, NULL) == BITSIEVE_OK);
  bitsieve_array fixed = {sizeof fixed, BITSIEVE_FIXED_WIDTH, rows, NULL, 3, NULL, 0, 3, NULL, NULL, 0};
  RequireAnswers(filter, &fixed, "010");
  fixed.first = 1;
  fixed.count = 2;
  RequireAnswers(filter, &fixed, "10");
  fixed.layout = BITSIEVE_PADDED;
  RequireAnswers(filter, &fixed, "01");
  const bitsieve_array empty = {sizeof empty, BITSIEVE_FIXED_WIDTH, NULL, NULL, 0, NULL, 0, 100, NULL, NULL, 0};
  REQUIRE(bitsieve_may_contain_array(filter, &empty, answers, NULL) == BITSIEVE_OK && answers[99] == 1);
  bitsieve_free(filter);
}

static void TakesArraysWithOffsets(void) {
  bitsieve_filter* filter = Make("cuckoo", 1);
  static const char data[] = "onetwothree";
  static const int64_t wide[] = {0, 0, 3, 6, 6, 11};
  char narrow[1 + 6 * sizeof(int32_t)]; /* at an odd address */
  for (int i = 0; i < 6; ++i) {
    const int32_t offset = (int32_t)wide[i];
    memcpy(narrow + 1 + (size_t)i * sizeof offset, &offset, sizeof offset);
  }
  static const uint8_t validity[] = {0x17}; /* all but the item 3 */
  uint8_t answers[5];
  bitsieve_array array = {sizeof array, BITSIEVE_OFFSETS_32, data, narrow + 1, 0, validity, 1, 4, NULL, NULL, 0};
  REQUIRE(bitsieve_add_array(filter, &array, answers, NULL) == BITSIEVE_OK);
  REQUIRE(memcmp(answers, "\1\1\0\1", 4) == 0);
  REQUIRE(bitsieve_may_contain(filter, "one", 3) == 1 && bitsieve_may_contain(filter, "three", 5) == 1);
  REQUIRE(bitsieve_may_contain(filter, "", 0) == 0);
  array.layout = BITSIEVE_OFFSETS_64;
  array.offsets = wide;
  array.first = 0;
  array.count = 5;
  RequireAnswers(filter, &array, "01101");
  REQUIRE(bitsieve_add(filter, "", 0, NULL, NULL) == BITSIEVE_OK);
  RequireAnswers(filter, &array, "11101");
  array.validity = NULL;
  RequireAnswers(filter, &array, "11111");
  array.offsets = wide + 1;
  array.data = NULL;
  array.count = 0;
  RequireAnswers(filter, &array, "");
  bitsieve_free(filter);
}

typedef struct View {
  int32_t length;
  union {
    char inside[12];
    int32_t prefix_buffer_offset[3];
  } item;
} View;

static void TakesArraysOfViews(void) {
  bitsieve_filter* filter = Make("cuckoo", 1);
  bitsieve_error error;
  View views[] = {{3, {"one"}}, {12, {"twelve bytes"}}, {0, {""}}, {13, {""}}, {20, {""}}};
  memcpy(views[3].item.prefix_buffer_offset, (int32_t[]){0, 1, 2}, 12);
  memcpy(views[4].item.prefix_buffer_offset, (int32_t[]){0, 0, 0}, 12);
  const void* const buffers[] = {"twenty bytes in all.", "..thirteen byte"};
  const int64_t buffer_sizes[] = {20, 15};
  uint8_t answers[5];
  static const uint8_t validity[] = {0x1b}; /* all but the item 2 */
  bitsieve_array array = {
      sizeof array, BITSIEVE_VIEWS, views, NULL, 0, validity, 0, 5, buffers, buffer_sizes, 2};
  REQUIRE(bitsieve_add_array(filter, &array, answers, NULL) == BITSIEVE_OK);
  REQUIRE(memcmp(answers, "\1\1\0\1\1", 5) == 0);
  static const char* const added[] = {"one", "twelve bytes", "thirteen byte", "twenty bytes in all."};
  for (int i = 0; i < 4; ++i) REQUIRE(bitsieve_may_contain(filter, added[i], strlen(added[i])) == 1);
  REQUIRE(bitsieve_may_contain(filter, "", 0) == 0);
  array.first = 1;
  array.count = 4;
  RequireAnswers(filter, &array, "1011");

  const int32_t damages[][4] = {{-1, 0, 0, 0}, {13, 0, 1, 3}, {13, 0, 2, 0}, {13, 0, -1, 0}, {13, 0, 0, -1}};
  for (int i = 0; i < 5; ++i) {
    memcpy(&views[3], damages[i], sizeof views[3]);
    REQUIRE(bitsieve_may_contain_array(filter, &array, answers, &error) == BITSIEVE_INVALID_ARGUMENT);
    REQUIRE(strcmp(error.message, "the array's view 3 is outside its buffer") == 0);
  }
  array.validity = (const uint8_t[]){0x13}; /* a null may be anything */
  RequireAnswers(filter, &array, "1001");
  array.buffers = NULL;
  REQUIRE(bitsieve_may_contain_array(filter, &array, answers, &error) == BITSIEVE_INVALID_ARGUMENT);
  REQUIRE(strstr(error.message, "buffers or their sizes are NULL") != NULL);
  array.data = NULL;
  REQUIRE(bitsieve_may_contain_array(filter, &array, answers, &error) == BITSIEVE_INVALID_ARGUMENT);
  REQUIRE(strstr(error.message, "data is NULL") != NULL);
  bitsieve_free(filter);
}

/* Of a call: it refuses a NULL, and its message names what is NULL. */
#define REQUIRE_REFUSED(call, what)               \
  do {                                            \
    error.message[0] = '\0';                      \
    REQUIRE((call) == BITSIEVE_INVALID_ARGUMENT); \
    REQUIRE(strstr(error.message, what) != NULL); \
  } while (0)

static void RefusesNull(void) {
  bitsieve_filter* filter = Make("counting", 1);
  bitsieve_filter* made = NULL;
  bitsieve_error error;
  bitsieve_options options;
  uint8_t answer = 7;
  uint64_t count = 0;
  void* bytes = NULL;
  size_t size = 0;
  bitsieve_options_init(&options, sizeof options);
  REQUIRE_REFUSED(bitsieve_make(NULL, &made, &error), "options are NULL");
  REQUIRE_REFUSED(bitsieve_make(&options, NULL, &error), "place for the filter is NULL");
  options.type_option_count = 1;
  REQUIRE_REFUSED(bitsieve_make(&options, &made, &error), "type_options is NULL");
  const bitsieve_type_option empty = {NULL, NULL};
  options.type_options = &empty;
  REQUIRE_REFUSED(bitsieve_make(&options, &made, &error), "word or value of type_options is NULL");
  REQUIRE_REFUSED(bitsieve_load(NULL, &made, &error), "path is NULL");
  REQUIRE_REFUSED(bitsieve_map(NULL, &made, &error), "path is NULL");
  REQUIRE_REFUSED(bitsieve_from_bytes(NULL, 5, &made, &error), "bytes are NULL");
  REQUIRE_REFUSED(bitsieve_add(NULL, "a", 1, &answer, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_add(filter, NULL, 1, &answer, &error), "item is NULL");
  REQUIRE_REFUSED(bitsieve_add_many(NULL, items, sizes, 1, &answer, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_add_many(filter, NULL, sizes, 1, &answer, &error), "items, sizes or added is NULL");
  REQUIRE_REFUSED(bitsieve_add_many(filter, items, NULL, 1, &answer, &error), "items, sizes or added is NULL");
  REQUIRE_REFUSED(bitsieve_add_many(filter, items, sizes, 1, NULL, &error), "items, sizes or added is NULL");
  REQUIRE(bitsieve_add_many(filter, NULL, NULL, 0, NULL, &error) == BITSIEVE_OK);
  REQUIRE_REFUSED(bitsieve_remove(NULL, "a", 1, &answer, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_note_false_positive(NULL, "a", 1, &answer, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_count(NULL, "a", 1, &count, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_add_for(NULL, "a", 1, 1, &answer, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_time_to_live(NULL, "a", 1, NULL, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_touch(NULL, "a", 1, &answer, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_merge(NULL, filter, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_merge(filter, NULL, &error), "other filter is NULL");
  REQUIRE_REFUSED(bitsieve_freeze(NULL, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_save(NULL, "x", &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_save(filter, NULL, &error), "path is NULL");
  REQUIRE(bitsieve_save(filter, "", &error) == BITSIEVE_IO && strstr(error.message, "no name") != NULL);
  REQUIRE_REFUSED(bitsieve_to_bytes(NULL, &bytes, &size, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_to_bytes(filter, NULL, &size, &error), "place for the bytes");
  REQUIRE_REFUSED(bitsieve_to_bytes(filter, &bytes, NULL, &error), "place for the bytes");
  REQUIRE_REFUSED(bitsieve_verify(NULL, &error), "filter is NULL");
  bitsieve_description description;
  REQUIRE(bitsieve_describe(NULL, &description, sizeof description) == BITSIEVE_INVALID_ARGUMENT);
  REQUIRE(bitsieve_describe(filter, NULL, sizeof description) == BITSIEVE_INVALID_ARGUMENT);
  REQUIRE(bitsieve_may_contain(NULL, "a", 1) == 0);
  bitsieve_may_contain_many(NULL, items, sizes, 1, &answer);
  REQUIRE(answer == 0 && made == NULL);
  bitsieve_free(filter);
  bitsieve_free(NULL);
  bitsieve_free_bytes(NULL);
}

static void RefusesDamagedArrays(void) {
  bitsieve_filter* filter = Make("counting", 1);
  bitsieve_error error;
  uint8_t answers[200];
  bitsieve_array array = {sizeof array, BITSIEVE_FIXED_WIDTH, "abc", NULL, 1, NULL, 0, 3, NULL, NULL, 0};
  REQUIRE_REFUSED(bitsieve_add_array(NULL, &array, answers, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_add_array(filter, NULL, answers, &error), "items are NULL");
  REQUIRE_REFUSED(bitsieve_add_array(filter, &array, NULL, &error), "place for the answers is NULL");
  REQUIRE_REFUSED(bitsieve_may_contain_array(NULL, &array, answers, &error), "filter is NULL");
  REQUIRE_REFUSED(bitsieve_may_contain_array(filter, NULL, answers, &error), "items are NULL");
  array.size = 8;
  REQUIRE_REFUSED(bitsieve_add_array(filter, &array, answers, &error), "size is not sizeof(bitsieve_array)");
  array.size = sizeof array;
  array.layout = 5;
  REQUIRE_REFUSED(bitsieve_add_array(filter, &array, answers, &error), "layout 5 is not between 0 and 4");
  array.layout = BITSIEVE_OFFSETS_32;
  REQUIRE_REFUSED(bitsieve_add_array(filter, &array, answers, &error), "offsets are NULL");
  static const int32_t decreasing[] = {0, 1, 3, 2}, negative[] = {-1, 1, 2, 3};
  array.offsets = decreasing;
  REQUIRE_REFUSED(bitsieve_add_array(filter, &array, answers, &error), "offset 3 is 2: offsets must not");
  array.offsets = negative;
  REQUIRE_REFUSED(bitsieve_may_contain_array(filter, &array, answers, &error), "offset 0 is -1: offsets must not");
  array.offsets = decreasing;
  array.count = 2;
  array.data = NULL;
  REQUIRE_REFUSED(bitsieve_add_array(filter, &array, answers, &error), "data is NULL");
  array.layout = BITSIEVE_FIXED_WIDTH;
  REQUIRE_REFUSED(bitsieve_add_array(filter, &array, answers, &error), "data is NULL");
  array.width = 0;
  array.first = SIZE_MAX - 1;
  REQUIRE_REFUSED(bitsieve_add_array(filter, &array, answers, &error), "exceed the range of size_t");
  array.count = 0;
  REQUIRE(bitsieve_add_array(filter, &array, NULL, &error) == BITSIEVE_OK);

  bitsieve_description description;
  REQUIRE(bitsieve_describe(filter, &description, sizeof description) == BITSIEVE_OK && description.items == 0);
  bitsieve_free(filter);
}

static void SavesLoadsAndMaps(const char* folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/filter", folder);
  bitsieve_filter* filter = Make("ribbon", 1);
  uint8_t answers[2 * kItems], again[2 * kItems];
  REQUIRE(bitsieve_add_many(filter, items, sizes, kItems, answers, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_freeze(filter, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_save(filter, path, NULL) == BITSIEVE_OK);
  bitsieve_may_contain_many(filter, items, sizes, (size_t)2 * kItems, answers);

  void* bytes = NULL;
  size_t size = 0;
  REQUIRE(bitsieve_to_bytes(filter, &bytes, &size, NULL) == BITSIEVE_OK);
  bitsieve_filter* others[3];
  REQUIRE(bitsieve_from_bytes(bytes, size, &others[0], NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_load(path, &others[1], NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_map(path, &others[2], NULL) == BITSIEVE_OK);
  for (int i = 0; i < 3; ++i) {
    bitsieve_may_contain_many(others[i], items, sizes, (size_t)2 * kItems, again);
    REQUIRE(memcmp(answers, again, sizeof answers) == 0);
    REQUIRE(bitsieve_verify(others[i], NULL) == BITSIEVE_OK);
    bitsieve_description description;
    REQUIRE(bitsieve_describe(others[i], &description, sizeof description) == BITSIEVE_OK);
    REQUIRE(strcmp(description.type, "ribbon") == 0 && description.items == kItems && description.seed == 1);
    REQUIRE(description.is_mapped == (i == 2));
    bitsieve_free(others[i]);
  }
  ((char*)bytes)[size / 2] ^= 1;
  REQUIRE(bitsieve_from_bytes(bytes, size, &others[0], NULL) == BITSIEVE_CORRUPT && others[0] == NULL);
  bitsieve_free_bytes(bytes);
  bitsieve_free(filter);
}

static void Merges(void) {
  bitsieve_filter* first = Make("blocked", 1);
  bitsieve_filter* second = Make("blocked", 1);
  bitsieve_filter* other = Make("blocked", 2);
  REQUIRE(bitsieve_add(second, "x", 1, NULL, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_merge(first, second, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_may_contain(first, "x", 1) == 1);
  bitsieve_error error;
  REQUIRE(bitsieve_merge(first, other, &error) == BITSIEVE_INVALID_ARGUMENT);
  REQUIRE(strcmp(error.message, "they differ in their seed: 1 and 2") == 0);
  REQUIRE(bitsieve_remove(first, "x", 1, NULL, &error) == BITSIEVE_UNSUPPORTED);
  bitsieve_free(first);
  bitsieve_free(second);
  bitsieve_free(other);
}

static void Folds(void) {
  bitsieve_filter* filter = NULL;
  bitsieve_options options;
  bitsieve_error error;
  bitsieve_options_init(&options, sizeof options);
  options.capacity = 100000;
  REQUIRE(bitsieve_make(&options, &filter, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_add(filter, "x", 1, NULL, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_fold(filter, 200000, &error) == BITSIEVE_INVALID_ARGUMENT);
  REQUIRE(strcmp(error.message, "its capacity is 100000, and a fold makes it smaller") == 0);
  REQUIRE(bitsieve_fold(filter, 10000, NULL) == BITSIEVE_OK);
  REQUIRE(bitsieve_may_contain(filter, "x", 1) == 1);
  bitsieve_free(filter);
}

static void Expires(void) {
  bitsieve_options options;
  const bitsieve_type_option ttl = {"TTL", "1h"};
  bitsieve_filter* filter = NULL;
  bitsieve_error error;
  bitsieve_options_init(&options, sizeof options);
  options.type = "expiring";
  options.type_options = &ttl;
  options.type_option_count = 1;
  REQUIRE(bitsieve_make(&options, &filter, &error) == BITSIEVE_OK);
  uint8_t answer = 0;
  int64_t left_ms = 0;
  REQUIRE(bitsieve_add_for(filter, "x", 1, 1000, &answer, NULL) == BITSIEVE_OK && answer == 1);
  REQUIRE(bitsieve_time_to_live(filter, "x", 1, &left_ms, NULL) == BITSIEVE_OK);
  REQUIRE(left_ms > 0 && left_ms <= 1000 + 3600 * 1000 / 14 + 1);
  REQUIRE(bitsieve_touch(filter, "x", 1, &answer, NULL) == BITSIEVE_OK && answer == 1);
  REQUIRE(bitsieve_time_to_live(filter, "x", 1, &left_ms, NULL) == BITSIEVE_OK && left_ms > 3590 * 1000);
  REQUIRE(bitsieve_touch(filter, "y", 1, &answer, NULL) == BITSIEVE_OK && answer == 0);
  REQUIRE(bitsieve_time_to_live(filter, "y", 1, &left_ms, NULL) == BITSIEVE_OK && left_ms == -2);
  REQUIRE(bitsieve_add_for(filter, "y", 1, UINT64_MAX, NULL, &error) == BITSIEVE_INVALID_ARGUMENT);
  REQUIRE(strstr(error.message, "up to the filter's TTL") != NULL);
  bitsieve_free(filter);
}

static void ErrorsSayWhatIsWrong(void) {
  bitsieve_options options;
  bitsieve_error error;
  bitsieve_filter* filter = (bitsieve_filter*)&error;
  memset(&options, 0, sizeof options);
  REQUIRE(bitsieve_make(&options, &filter, &error) == BITSIEVE_INVALID_ARGUMENT && filter == NULL);
  REQUIRE(strstr(error.message, "bitsieve_options_init") != NULL);
  bitsieve_options_init(&options, sizeof options);
  options.error_rate = 2;
  REQUIRE(bitsieve_make(&options, &filter, &error) == BITSIEVE_INVALID_ARGUMENT);
  REQUIRE(strcmp(error.message, "error rate must be in the range [1e-09, 0.25]") == 0);
  bitsieve_options_init(&options, sizeof options);
  const bitsieve_type_option hash = {"HASH", "sip"};
  options.type_options = &hash;
  options.type_option_count = 1;
  options.expansion = 0;
  REQUIRE(bitsieve_make(&options, &filter, &error) == BITSIEVE_OK);
  uint8_t added[2 * kItems];
  REQUIRE(bitsieve_add_many(filter, items, sizes, (size_t)2 * kItems, added, &error) == BITSIEVE_FULL);
  bitsieve_free(filter);
  options.expansion = 1;
  options.capacity = 1 << 30;
  options.memory_limit_bytes = 1000;
  REQUIRE(bitsieve_make(&options, &filter, &error) == BITSIEVE_OUT_OF_MEMORY);
  REQUIRE(bitsieve_load("/none/filter", &filter, &error) == BITSIEVE_IO);
  REQUIRE(strcmp(error.message, "/none/filter: No such file or directory") == 0);
  char path[2000];
  memset(path, 'x', sizeof path);
  path[sizeof path - 1] = '\0';
  REQUIRE(bitsieve_map(path, &filter, &error) == BITSIEVE_IO && strlen(error.message) == sizeof error.message - 1);
  bitsieve_free(NULL);
  bitsieve_free_bytes(NULL);
}

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  for (int i = 0; i < 2 * kItems; ++i) {
    sizes[i] = (size_t)snprintf(texts[i], sizeof texts[i], "item %d", i);
    items[i] = texts[i];
  }
  AddsAndLooksUp();
  SavesLoadsAndMaps(argv[1]);
  Merges();
  Folds();
  Expires();
  ErrorsSayWhatIsWrong();
  RefusesNull();
  TakesArraysOfOneWidth();
  TakesArraysWithOffsets();
  TakesArraysOfViews();
  RefusesDamagedArrays();
  REQUIRE(strchr(bitsieve_version(), '.') != NULL);
  puts("c_api_test: all of it holds");
  return 0;
}
