// dedup_run.h: one run of bitsieve dedup: reads blocks on one thread, takes repeated records out of them on several,
// and writes what is left on another one; keeps what was seen for the next run, and how far it came for the same one.
// Confined to the main thread, apart from its own. Errors are for people.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bulk/load_progress.h"
#include "cli/dedup/block.h"
#include "cli/dedup/block_reader.h"
#include "cli/dedup/block_writer.h"
#include "cli/dedup/channel.h"
#include "cli/dedup/dedup_state.h"
#include "cli/dedup/deduplicator.h"
#include "cli/dedup/outputs.h"
#include "cli/dedup/seen_set.h"
#include "cli/dedup/worker_team.h"
#include "core/base/result.h"
#include "server/persistence/disk/posix_disk.h"

namespace bitsieve::cli {

struct DedupSettings {
  InputSettings input;
  double threshold = 1;
  bool skip_bad = false;
  size_t threads = 1;
  std::string state;       // path; empty: what was seen is not kept
  std::string checkpoint;  // path; empty: an interrupted run is not continued
  std::chrono::milliseconds between_checkpoints{30'000};
  std::string command = {};  // as DedupProgress has it
};

class DedupRun {
 public:
  // Returns whether the user wants the run to end early.
  using IsInterrupted = std::function<bool()>;

  // All of them outlive the run.
  DedupRun(const DedupSettings& settings, SeenSet& seen, Outputs& outputs, LoadProgress& progress,
           IsInterrupted is_interrupted);

  // Continues from there; called before Run, or not at all.
  core::Outcome<void> Continue(const DedupProgress& from);
  // Runs to the end of the inputs, or until interrupted. Unless the run can be continued, what it wrote is removed if
  // it did not come to the end.
  core::Outcome<void> Run();

  bool was_interrupted() const { return was_interrupted_; }
  const std::vector<DedupCounts>& counts() const { return progress_.counts; }
  DedupCounts total() const;

  // Returns the memory of blocks and their items.
  static uint64_t BufferBytes(const BlockLimits& limits, const SeenParams& params, size_t threads);

 private:
  using SteadyClock = std::chrono::steady_clock;
  static constexpr size_t kBlocks = 3;  // one is read, one worked on, one written

  core::Outcome<void> RunBlocks();
  core::Outcome<void> WorkOn(Block& block, BlockWriter& writer);
  core::Outcome<void> FinishFiles();
  core::Outcome<void> SaveCheckpoint();
  core::Outcome<void> SaveCheckpointIfDue(BlockWriter& writer);
  void ReadBlocks();
  bool IsStopped() const { return stop_.load(std::memory_order_relaxed) || is_interrupted_(); }
  void Count(const Block& block);

  const DedupSettings& settings_;
  SeenSet& seen_;
  Outputs& outputs_;
  LoadProgress& shown_;
  const IsInterrupted is_interrupted_;
  server::PosixDisk disk_;
  WorkerTeam team_;
  Deduplicator deduplicator_;
  BlockReader reader_;
  DedupProgress progress_;
  bool continues_ = false;
  bool was_interrupted_ = false;
  SteadyClock::time_point saved_ = SteadyClock::now();
  SteadyClock::duration saving_{};  // the last checkpoint took so long

  std::atomic<bool> stop_{false};  // relaxed: only a hint
  Channel<Block> free_;
  Channel<Block> full_;
  core::Outcome<void> read_;  // of the reading thread: read when that has ended
};

}  // namespace bitsieve::cli
