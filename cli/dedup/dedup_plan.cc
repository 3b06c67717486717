#include "cli/dedup/dedup_plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/client/units.h"
#include "cli/dedup/input_size.h"
#include "core/base/parse.h"

namespace bitsieve::cli {
namespace {

constexpr uint64_t kItemsOfPipes = 10'000'000;
constexpr double kDefaultErrorRate = 0.001;
constexpr std::string_view kCheckpointSuffix = ".bitsieve-dedup";

bool HasPipe(const DedupRequest& request) {
  return std::ranges::any_of(request.files, [](const std::string& file) {
    std::error_code error;
    return file == "-" || !std::filesystem::is_regular_file(file, error);
  });
}

std::string CheckpointPath(const DedupRequest& request) {
  if (!request.output_dir.empty()) return request.output_dir + "/" + std::string(kCheckpointSuffix);
  return request.output == "-" ? "" : request.output + std::string(kCheckpointSuffix);
}

core::Outcome<Outputs> OutputsOf(const DedupRequest& request) {
  return request.output_dir.empty() ? Outputs::OfAll(request.files, request.output, request.decompress)
                                    : Outputs::OfEach(request.files, request.output_dir, request.decompress);
}

core::Outcome<void> CheckInputs(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (file == "-") continue;
    const auto input = Input::Open(file, false);
    if (!input) return tl::unexpected(input.error());
  }
  return {};
}

// A block has enough items that most lines of a partition's filter are used several times while they are in the cache:
// 4 million of them take a fifth less time than a million does, for a filter of 10^8 items.
BlockLimits LimitsFor(const SeenParams& params) {
  constexpr uint64_t kFewest = 512 << 10;
  constexpr uint64_t kMost = 4 << 20;
  constexpr uint64_t kItemsPerRecord = 24;
  constexpr size_t kTextBytesPerRecord = 16;
  if (params.ngram != 0) return {.text_bytes = 16 << 20, .records = kFewest};
  const uint64_t records = std::bit_ceil(std::clamp(params.items / kItemsPerRecord, kFewest, kMost));
  return {.text_bytes = records * kTextBytesPerRecord, .records = records};
}

}  // namespace

std::string DedupRequest::Problem() const {
  if (const std::string problem = format.Problem(); !problem.empty()) return problem;
  if (std::ranges::count(files, "-") > 1) return "standard input (-) can be read only once";
  if (!output_dir.empty() && output != "-") {
    return "--output writes one file for all inputs, --output-dir one for each: give one of the two";
  }
  if (!output_dir.empty() && std::ranges::count(files, "-") != 0) {
    return "--output-dir names outputs after the inputs, and standard input has no name: use --output";
  }
  if (exact && error_rate) return "--exact makes no errors: leave out --error-rate";
  if (!resume) return "";
  if (HasPipe(*this)) return "--resume needs files: standard input cannot be read from the middle";
  if (output_dir.empty() && output == "-") {
    return "--resume needs --output FILE or --output-dir: standard output cannot be continued";
  }
  return "";
}

core::Outcome<DedupPlan> DedupPlan::Make(const DedupRequest& request) {
  if (auto checked = CheckInputs(request.files); !checked) return tl::unexpected(checked.error());
  auto outputs = OutputsOf(request);
  if (!outputs) return tl::unexpected(outputs.error());
  if (request.resume && !outputs->are_files()) {
    return tl::unexpected<std::string>("--resume needs an output that is a file: a device or pipe cannot be continued");
  }
  DedupPlan plan(request, std::move(*outputs));
  plan.settings_ = {.input = {.paths = request.files,
                              .format = request.format,
                              .decompress = request.decompress,
                              .joins_headers = plan.outputs_.is_one()},
                    .threshold = request.ngram ? request.threshold : 1,
                    .skip_bad = request.skip_bad,
                    .threads = request.threads,
                    .state = request.state,
                    .checkpoint = request.resume ? CheckpointPath(request) : "",
                    .between_checkpoints = std::chrono::seconds(request.checkpoint_s)};
  plan.params_ = {.exact = request.exact,
                  .error_rate = request.exact ? 0 : request.error_rate.value_or(kDefaultErrorRate),
                  .seed = request.seed.value_or(0),
                  .ngram = request.ngram.value_or(0)};
  plan.settings_.command = plan.CommandText();
  if (auto planned = plan.PlanState(); !planned) return tl::unexpected(planned.error());
  plan.settings_.input.limits = LimitsFor(plan.params_);
  if (auto checked = plan.CheckMemory(); !checked) return tl::unexpected(checked.error());
  return plan;
}

core::Outcome<void> DedupPlan::PlanState() {
  std::error_code error;
  const std::string checkpoint = CheckpointPath(request_);
  const bool was_interrupted = !checkpoint.empty() && std::filesystem::exists(checkpoint, error);
  if (was_interrupted && !request_.resume) {
    return tl::unexpected(checkpoint + " is of an interrupted run with this output: --resume continues it; remove " +
                          checkpoint + " to begin again");
  }
  continues_run_ = was_interrupted;
  continues_state_ = !was_interrupted && !request_.state.empty() && std::filesystem::exists(request_.state, error);
  if (!continues_run_ && !continues_state_) return PlanItems();
  read_from_ = continues_run_ ? checkpoint : request_.state;
  const auto kept = ReadDedupHead(server::PosixDisk(), read_from_);
  if (!kept) return tl::unexpected(kept.error().message);
  if (auto checked = CheckState(kept->params); !checked) return checked;
  params_ = kept->params;
  const bool is_of_this_run = kept->progress && kept->progress->command == settings_.command;
  was_complete_ = continues_state_ && request_.resume && is_of_this_run && kept->progress->is_complete;
  return {};
}

// A value that was not stated is that of the file.
core::Outcome<void> DedupPlan::CheckState(const SeenParams& kept) const {
  const auto differs = [&](const std::string& flag, const std::string& value) {
    return tl::unexpected(read_from_ + " was made with " + value + ": leave out " + flag + ", or use another file");
  };
  if (request_.exact != kept.exact) {
    return kept.exact ? tl::unexpected(read_from_ + " was made with --exact, which this run needs, too")
                      : differs("--exact", "filters, at an error rate of " + core::ShortestText(kept.error_rate));
  }
  if (request_.error_rate && *request_.error_rate != kept.error_rate) {
    return differs("--error-rate", "--error-rate " + core::ShortestText(kept.error_rate));
  }
  if (request_.items && *request_.items != kept.items) {
    return differs("--items", "--items " + std::to_string(kept.items));
  }
  if (request_.seed && *request_.seed != kept.seed) return differs("--seed", "--seed " + std::to_string(kept.seed));
  if (request_.ngram.value_or(0) == kept.ngram) return {};
  return tl::unexpected(read_from_ + " was made " +
                        (kept.ngram == 0 ? "without --ngram" : "with --ngram " + std::to_string(kept.ngram)) +
                        ", which this run needs, too");
}

core::Outcome<void> DedupPlan::PlanItems() {
  if (request_.items) {
    params_.items = *request_.items;
    return {};
  }
  const auto estimate = EstimateItems(settings_.input, params_.ngram);
  if (!estimate) return tl::unexpected(estimate.error());
  is_estimate_ = estimate->has_value();
  is_guess_ = !is_estimate_;
  params_.items = estimate->value_or(kItemsOfPipes);
  return {};
}

DedupMemory DedupPlan::memory() const {
  return {SeenSet::BytesFor(params_), DedupRun::BufferBytes(settings_.input.limits, params_, settings_.threads)};
}

core::Outcome<void> DedupPlan::CheckMemory() const {
  const DedupMemory memory = this->memory();
  if (request_.memory_limit == 0 || memory.total() <= request_.memory_limit) return {};
  return tl::unexpected("this takes " + MemoryText(memory.total()) + " (" + MemoryText(memory.set_bytes) + " for " +
                        CountText(params_.items) + " items, " + MemoryText(memory.buffer_bytes) +
                        " of buffers), more than --memory-limit " + MemoryText(request_.memory_limit) +
                        (params_.exact ? ": filters take less (leave out --exact)"
                                       : ": a higher --error-rate or fewer --items take less"));
}

core::Outcome<DedupState> DedupPlan::MakeSeen(core::MemoryBudget& budget) const {
  if (request_.memory_limit != 0) budget.set_limit_bytes(request_.memory_limit - memory().buffer_bytes);
  if (read_from_.empty()) {
    auto seen = SeenSet::Make(params_, budget);
    if (!seen) return tl::unexpected(seen.error().message);
    return DedupState{std::move(*seen), std::nullopt};
  }
  auto state = ReadDedupState(server::PosixDisk(), read_from_, budget);
  if (!state) return tl::unexpected(state.error().message);
  if (!continues_run_) {
    if (state->progress && !state->progress->is_complete) {
      return tl::unexpected(read_from_ + " is of an interrupted run, not of one that has ended");
    }
    state->progress.reset();
    return std::move(*state);
  }
  if (state->progress && state->progress->command == settings_.command) return std::move(*state);
  return tl::unexpected(read_from_ + " is of a run with other arguments, or its inputs have changed since: remove it " +
                        "to begin again");
}

uint64_t DedupPlan::input_bytes() const {
  uint64_t bytes = 0;
  for (const std::string& file : request_.files) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    if (error) return 0;
    bytes += size;
  }
  return bytes;
}

// All that decides what the output is.
std::string DedupPlan::CommandText() const {
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& path : request_.files) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) continue;
    files.push_back({path, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec});
  }
  const RecordFormat& format = request_.format;
  const nlohmann::json command = {
      {"files", files},
      {"format", {static_cast<int>(format.kind), format.field, format.record_bytes, format.crlf, request_.decompress}},
      {"output", {request_.output, request_.output_dir}},
      {"state", request_.state},
      {"threshold", settings_.threshold},
      {"skip_bad", request_.skip_bad}};
  return command.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace bitsieve::cli
