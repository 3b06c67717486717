#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/bulk/record_flags.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "cli/dedup/dedup_plan.h"
#include "cli/dedup/dedup_run.h"
#include "clients/cpp/whole_file.h"
#include "config/option_row.h"
#include "core/base/quote.h"
#include "core/filter/error_rates.h"

namespace bitsieve::cli {
namespace {

constexpr uint64_t kMaxItems = uint64_t{1} << 37;
constexpr size_t kMaxThreads = 256;

std::atomic<bool> dedup_interrupted{false};  // relaxed: only a wish to stop
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

struct DedupArguments {
  RecordFlags records;
  DedupRequest request;
  std::string items;
  std::string error_rate;
  std::string memory_limit;
  std::string report;
  size_t threads = 0;
  bool dry_run = false;
  bool quiet = false;
};

// Completes the request by what the words of the command line mean.
core::Outcome<DedupRequest> RequestOf(const DedupArguments& arguments) {
  DedupRequest request = arguments.request;
  request.format = arguments.records.Format();
  request.decompress = arguments.records.decompresses();
  request.threads = arguments.threads != 0 ? arguments.threads : std::max(1U, std::thread::hardware_concurrency());
  if (!arguments.items.empty()) {
    request.items = ParseCount(arguments.items, kMaxItems);
    if (!request.items) {
      return tl::unexpected("--items is a number such as 1000000, 1e9 or 50m, at most 2^37, not " +
                            core::Quoted(arguments.items));
    }
  }
  if (!arguments.error_rate.empty()) {
    request.error_rate = ParseErrorRate(arguments.error_rate);
    if (!request.error_rate) {
      return tl::unexpected("--error-rate is a rate such as 0.001 or 0.1%, " + std::string(core::kErrorRates) +
                            ", not " + core::Quoted(arguments.error_rate));
    }
  }
  if (!arguments.memory_limit.empty()) {
    const auto bytes = config::ParseByteSize(arguments.memory_limit);
    if (!bytes || *bytes == 0) {
      return tl::unexpected("--memory-limit is a size such as 512mb or 2gb, not " +
                            core::Quoted(arguments.memory_limit));
    }
    request.memory_limit = *bytes;
  }
  return request;
}

void PrintMemory(const DedupPlan& plan) {
  const DedupMemory memory = plan.memory();
  const SeenParams& params = plan.params();
  std::cerr << "bitsieve dedup: memory " << MemoryText(memory.total()) << ": " << MemoryText(memory.set_bytes)
            << " for " << CountText(params.items) << (params.ngram == 0 ? " items" : " n-grams")
            << (plan.is_estimate() ? " (estimated from the inputs; --items states them)" : "")
            << (plan.is_guess() ? " (more take more memory; --items states how many there are)" : "")
            << (params.exact ? ", exact" : ", error rate " + PercentText(params.error_rate)) << "; "
            << MemoryText(memory.buffer_bytes) << " of buffers\n";
}

nlohmann::ordered_json CountsObject(const DedupCounts& counts) {
  return {{"records", counts.records}, {"kept", counts.kept},   {"dropped", counts.records - counts.kept - counts.bad},
          {"bad", counts.bad},         {"bytes", counts.bytes}, {"kept_bytes", counts.kept_bytes}};
}

core::Status WriteReport(const std::string& path, const DedupPlan& plan, const DedupRun& run, const SeenSet& seen,
                         double seconds) {
  const SeenParams& params = plan.params();
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (size_t i = 0; i < run.counts().size(); ++i) {
    nlohmann::ordered_json file = {{"file", plan.settings().input.paths[i]}};
    file.update(CountsObject(run.counts()[i]));
    files.push_back(std::move(file));
  }
  const nlohmann::ordered_json report = {{"files", files},
                                         {"total", CountsObject(run.total())},
                                         {"seconds", seconds},
                                         {"threads", plan.settings().threads},
                                         {"exact", params.exact},
                                         {"expected_items", params.items},
                                         {"items_seen", seen.items()},
                                         {"error_rate", params.error_rate},
                                         {"estimated_error_rate", seen.ErrorRate()},
                                         {"set_bytes", seen.size_bytes()},
                                         {"buffer_bytes", plan.memory().buffer_bytes}};
  auto file = path == "-" ? core::Result<clients::WholeFile>(clients::WholeFile::StandardOutput())
                          : clients::WholeFile::Create(path);
  if (!file) return tl::unexpected(file.error());
  const std::string text = report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (auto written = file->Write(text); !written) return written;
  return file->Finish();
}

void PrintSummary(const DedupRun& run, const SeenSet& seen, double seconds) {
  const DedupCounts counts = run.total();
  char seconds_text[32];
  std::snprintf(seconds_text, sizeof seconds_text, "%.1f", seconds);
  std::cerr << CountText(counts.records) << " records read in " << seconds_text << " s: " << CountText(counts.kept)
            << " kept, " << CountText(counts.records - counts.kept - counts.bad) << " dropped";
  if (counts.bad != 0) std::cerr << ", " << CountText(counts.bad) << " without an item dropped";
  std::cerr << '\n';
  if (seen.has_grown()) {
    std::cerr << "There were more different items than expected (" << CountText(seen.params().items)
              << "), and the memory for them grew to " << MemoryText(seen.size_bytes())
              << "; the error rate is kept. --items states their number\n";
  }
}

int Fail(const std::string& problem, int status = kExitFailure) {
  std::cerr << "bitsieve dedup: " << problem << '\n';
  return status;
}

int RunDedup(const DedupArguments& arguments) {
  const auto request = RequestOf(arguments);
  if (!request) return Fail(request.error(), kExitUsage);
  if (const std::string problem = request->Problem(); !problem.empty()) return Fail(problem, kExitUsage);
  std::signal(SIGINT, [](int) { dedup_interrupted.store(true, std::memory_order_relaxed); });
  std::signal(SIGTERM, [](int) { dedup_interrupted.store(true, std::memory_order_relaxed); });
  auto plan = DedupPlan::Make(*request);
  if (!plan) return Fail(plan.error());
  if (plan->was_complete()) {
    std::cerr << "bitsieve dedup: this run was complete: " << plan->settings().state << " has what it saw\n";
    return kExitOk;
  }
  if (!arguments.quiet || arguments.dry_run) PrintMemory(*plan);
  if (arguments.dry_run) return kExitOk;
  core::MemoryBudget budget;
  auto state = plan->MakeSeen(budget);
  if (!state) return Fail(state.error());
  LoadProgress progress(arguments.quiet ? LoadProgress::Form::kNone : LoadProgress::FormOfStandardError(),
                        plan->input_bytes());
  progress.Begin(LoadProgress::Phase::kDeduplicating);
  DedupRun run(plan->settings(), state->seen, plan->outputs(), progress,
               [] { return dedup_interrupted.load(std::memory_order_relaxed); });
  core::Outcome<void> done;
  if (state->progress) done = run.Continue(*state->progress);
  if (done && !run.was_interrupted()) done = run.Run();
  progress.End();
  const bool can_continue = !plan->settings().checkpoint.empty();
  if (!done) return Fail(done.error());
  if (run.was_interrupted()) {
    return Fail(can_continue ? "interrupted; the same command continues from there"
                             : "interrupted, and the output was removed; with --resume it would be continued",
                kExitInterrupted);
  }
  if (!arguments.quiet) PrintSummary(run, state->seen, progress.seconds());
  if (arguments.report.empty()) return kExitOk;
  const auto reported = WriteReport(arguments.report, *plan, run, state->seen, progress.seconds());
  return reported ? kExitOk : Fail(reported.error().message);
}

void AddOutputFlags(CLI::App& command, DedupArguments& arguments) {
  DedupRequest& request = arguments.request;
  command
      .add_option("-o,--output", request.output,
                  "File for what is kept of all inputs; - is standard output; compressed if the name ends in .gz or "
                  ".zst [-]")
      ->type_name("FILE");
  command
      .add_option("--output-dir", request.output_dir,
                  "Write one output per input instead, under its name, into this "
                  "directory")
      ->type_name("DIR");
  command.add_option("--report", arguments.report, "Write the counts of each file as JSON; - is standard output")
      ->type_name("FILE");
}

void AddSetFlags(CLI::App& command, DedupArguments& arguments) {
  DedupRequest& request = arguments.request;
  command
      .add_option("--items", arguments.items,
                  "Number of different items to expect, such as 1e9; with --ngram, of n-grams [estimated from the "
                  "inputs]")
      ->type_name("NUMBER");
  command
      .add_option("--error-rate", arguments.error_rate,
                  "Largest share of records that may be dropped though they are new [0.001]")
      ->type_name("RATE");
  command.add_flag("--exact", request.exact,
                   "Keep hashes of 128 bits instead of filters: no errors, 20 bytes per item");
  command.add_option("--seed", request.seed, "Seed of the hash function [0]")->type_name("NUMBER");
  command
      .add_option("--ngram", request.ngram,
                  "Compare the n-grams of this many words that records consist of, instead of whole records")
      ->check(CLI::Range(1, 1000))
      ->type_name("WORDS");
  command
      .add_option("--threshold", request.threshold,
                  "With --ngram: drop a record if this share of its n-grams was seen before [0.8]")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("SHARE");
  command
      .add_option("--state", request.state,
                  "Continue with the items that this file keeps, if it exists, and keep those of this run in it")
      ->type_name("FILE");
}

void AddRunFlags(CLI::App& command, DedupArguments& arguments) {
  DedupRequest& request = arguments.request;
  command
      .add_option("--threads", arguments.threads, "Threads that work; the output is the same for any number [cores]")
      ->check(CLI::Range(size_t{1}, kMaxThreads))
      ->type_name("NUMBER");
  command.add_option("--memory-limit", arguments.memory_limit, "Refuse to take more memory than this, such as 2gb")
      ->type_name("SIZE");
  command.add_flag("--resume", request.resume,
                   "Record next to the output how far the run came, and continue from there after an interruption");
  command
      .add_option("--checkpoint", request.checkpoint_s, "With --resume: seconds between two records of progress [30]")
      ->check(CLI::Range(0, 86400))
      ->type_name("SECONDS");
  command.add_flag("--skip-bad", request.skip_bad, "Drop records that have no item, count them, and continue");
  command.add_flag("--dry-run", arguments.dry_run, "Print only the memory that this takes");
  command.add_flag("-q,--quiet", arguments.quiet, "Show no memory, progress or summary");
}

}  // namespace

void AddDedup(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<DedupArguments>();
  CLI::App* command = program.add_subcommand("dedup", "Copy files without the records that occurred before");
  command->add_option("FILE", arguments->request.files, "Files to read, in this order; - is standard input [-]");
  AddOutputFlags(*command, *arguments);
  AddSetFlags(*command, *arguments);
  AddRunFlags(*command, *arguments);
  arguments->records.AddTo(*command);
  command->footer(
      "The first occurrence of each item stays, in the order of the input. Outputs appear under their names when "
      "they are complete.\nExit status: 0 if all was written, 1 if the command failed, 2 if the command line is wrong, "
      "130 if it was interrupted.\n\nExamples:\n  bitsieve dedup urls.txt -o unique.txt\n  bitsieve dedup part-*.gz "
      "--output-dir unique --threads 8\n  bitsieve dedup today.txt --state seen.dedup -o new.txt     only what no "
      "earlier day had\n  bitsieve dedup docs.jsonl.zst --format jsonl --field text --ngram 13 --threshold 0.8 -o "
      "kept.jsonl.zst\n  bitsieve dedup users.csv --format csv --field email --exact -o users.unique.csv\n  bitsieve "
      "dedup crawl-*.txt --resume -o crawl.txt          the same command continues after Ctrl-C");
  command->callback([arguments, &action] { action = [arguments] { return RunDedup(*arguments); }; });
}

}  // namespace bitsieve::cli
