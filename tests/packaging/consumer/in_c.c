#include <bitsieve.h>
#include <stdio.h>

int main(void) {
  bitsieve_options options;
  bitsieve_options_init(&options, sizeof options);
  bitsieve_filter* filter = NULL;
  bitsieve_error error;
  if (bitsieve_make(&options, &filter, &error) != BITSIEVE_OK ||
      bitsieve_add(filter, "alice", 5, NULL, &error) != BITSIEVE_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  printf("found %d of 1; in C\n", bitsieve_may_contain(filter, "alice", 5));
  bitsieve_free(filter);
  return 0;
}
