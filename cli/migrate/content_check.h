// content_check.h: checks whether filters have the same content on both sides of a move. The content is what the chunks
// of BF.SCANDUMP and CF.SCANDUMP are end to end. Only its length and its checksum are kept, so filters of any size on
// running servers are compared in bounded memory. Confined to one thread. Errors are for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/migrate/content_reader.h"
#include "cli/migrate/filter_source.h"
#include "cli/migrate/mover.h"
#include "core/base/result.h"

namespace bitsieve::cli {

struct ContentReport {
  uint64_t equal = 0;
  uint64_t equal_bytes = 0;
  std::vector<MoveFailure> different = {};
  std::vector<MoveFailure> unread = {};  // filters that could not be compared
};

class ContentCheck {
 public:
  // Small filters are compared in groups.
  static constexpr uint64_t kMaxGroupBytes = 16 << 20;
  static constexpr size_t kMaxGroup = 512;
  // A filter that differs is compared again: it may have been changed between the two reads, and servers finish some
  // changes in the background.
  static constexpr int kMaxPasses = 3;

  using Progress = std::function<void(uint64_t compared_bytes)>;
  // Waits before another pass.
  using Wait = std::function<void()>;

  ContentCheck(ContentReader& before, ContentReader& now, Progress progress, Wait wait);

  // Compares filters that the source found. After an error no more can be compared; the report has those before.
  core::Outcome<void> Run(std::vector<const FoundFilter*> filters);
  const ContentReport& report() const { return report_; }

 private:
  core::Outcome<void> RunPass(const std::vector<const FoundFilter*>& filters, bool is_last);
  core::Outcome<void> CompareGroup(bool is_last);
  void Judge(const FoundFilter& filter, const ContentDigest& before, const ContentDigest& now, bool is_last);

  ContentReader& before_;
  ContentReader& now_;
  const Progress progress_;
  const Wait wait_;
  std::vector<const FoundFilter*> group_;
  std::vector<const FoundFilter*> again_;  // differ so far, for the next pass
  uint64_t compared_bytes_ = 0;
  ContentReport report_;
};

}  // namespace bitsieve::cli
