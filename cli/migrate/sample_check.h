// sample_check.h: whether a moved filter still has its items: a random sample of those in a file is looked up on both
// servers, or on the new one alone. Confined to one thread. Errors are for people.
#pragma once

#include <cstdint>
#include <string>

#include "cli/bulk/server_client.h"
#include "cli/migrate/filter_source.h"
#include "core/base/result.h"

namespace bitsieve::cli {

struct SampleResult {
  uint64_t items = 0;
  uint64_t before = 0;   // there on the old server; all of them where there is none
  uint64_t now = 0;      // there on the new one
  uint64_t missing = 0;  // there before and not now
};

// Chosen by chance, so that each line of the file is as likely as any other.
inline constexpr uint64_t kSampleItems = 10'000;

// `old_server` may be null.
core::Outcome<SampleResult> CheckSample(const std::string& key, const std::string& file, ServerClient* old_server,
                                        ServerClient& new_server);

}  // namespace bitsieve::cli
