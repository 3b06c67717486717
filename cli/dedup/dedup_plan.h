// dedup_plan.h: what the arguments of bitsieve dedup come to: settings of a run, the set of items seen before, new or
// read from a file, and the memory of both. Confined to the main thread. Errors are for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/dedup/dedup_run.h"
#include "cli/dedup/dedup_state.h"
#include "cli/dedup/outputs.h"
#include "cli/dedup/seen_set.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"

namespace bitsieve::cli {

// Values of the command line, checked one by one.
struct DedupRequest {
  std::vector<std::string> files = {"-"};
  RecordFormat format = {};
  bool decompress = true;
  std::string output = "-";
  std::string output_dir = {};  // in place of `output`, unless empty
  std::optional<uint64_t> items = {};
  std::optional<double> error_rate = {};
  std::optional<uint64_t> seed = {};
  std::optional<uint32_t> ngram = {};
  bool exact = false;
  double threshold = 0.8;
  bool skip_bad = false;
  size_t threads = 1;
  uint64_t memory_limit = 0;  // bytes; 0: none
  std::string state = {};
  bool resume = false;
  unsigned checkpoint_s = 30;

  // Returns why the values do not fit together; empty if they do.
  std::string Problem() const;
};

struct DedupMemory {
  uint64_t set_bytes = 0;
  uint64_t buffer_bytes = 0;
  uint64_t total() const { return set_bytes + buffer_bytes; }
};

class DedupPlan {
 public:
  // The request has no problem. The error: files are not what they must be. Writes nothing but the directory of
  // outputs.
  static core::Outcome<DedupPlan> Make(const DedupRequest& request);

  const DedupSettings& settings() const { return settings_; }
  const SeenParams& params() const { return params_; }
  // Returns whether the number of items was estimated from the inputs; or is not known at all, and only a beginning.
  bool is_estimate() const { return is_estimate_; }
  bool is_guess() const { return is_guess_; }
  // Returns whether the run continues one that was interrupted, or with what an earlier one saw.
  bool continues_run() const { return continues_run_; }
  bool continues_state() const { return continues_state_; }
  // Returns whether the same run was completed before, as its state says: only its end was not noticed. Run again, it
  // would drop everything, since all was seen.
  bool was_complete() const { return was_complete_; }
  DedupMemory memory() const;
  // Returns the size of all inputs on disk; 0 if it is not known.
  uint64_t input_bytes() const;
  Outputs& outputs() { return outputs_; }

  // Makes the set, or reads it. The budget, which gets the limit of the request, outlives it.
  core::Outcome<DedupState> MakeSeen(core::MemoryBudget& budget) const;

 private:
  DedupPlan(const DedupRequest& request, Outputs outputs) : request_(request), outputs_(std::move(outputs)) {}

  core::Outcome<void> PlanState();
  core::Outcome<void> PlanItems();
  core::Outcome<void> CheckState(const SeenParams& kept) const;
  core::Outcome<void> CheckMemory() const;
  std::string CommandText() const;

  DedupRequest request_;
  Outputs outputs_;
  DedupSettings settings_;
  SeenParams params_;
  std::string read_from_;  // the file with the set; empty: a new one
  bool is_estimate_ = false;
  bool is_guess_ = false;
  bool continues_run_ = false;
  bool continues_state_ = false;
  bool was_complete_ = false;
};

}  // namespace bitsieve::cli
