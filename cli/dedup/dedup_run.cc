#include "cli/dedup/dedup_run.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace bitsieve::cli {
namespace {

Deduplicator::Settings WorkOf(const DedupSettings& settings, const Outputs& outputs) {
  return {.names = settings.input.paths,
          .format = settings.input.format,
          .limits = settings.input.limits,
          .threshold = settings.threshold,
          .skip_bad = settings.skip_bad,
          .compression_of = [&outputs](size_t input) { return outputs.CompressionOfInput(input); }};
}

core::Outcome<void> AsOutcome(const core::Status& status) {
  if (status) return {};
  return tl::unexpected(status.error().message);
}

}  // namespace

DedupRun::DedupRun(const DedupSettings& settings, SeenSet& seen, Outputs& outputs, LoadProgress& progress,
                   IsInterrupted is_interrupted)
    : settings_(settings),
      seen_(seen),
      outputs_(outputs),
      shown_(progress),
      is_interrupted_(std::move(is_interrupted)),
      team_(settings.threads),
      deduplicator_(WorkOf(settings, outputs), seen, team_),
      reader_(settings.input, [this] { return IsStopped(); }) {
  progress_.command = settings.command;
  progress_.counts.resize(settings.input.paths.size());
}

uint64_t DedupRun::BufferBytes(const BlockLimits& limits, const SeenParams& params, size_t threads) {
  return kBlocks * BlockReader::BytesOfBlock(limits) + Deduplicator::BytesFor(limits, params, threads);
}

DedupCounts DedupRun::total() const {
  DedupCounts total;
  for (const DedupCounts& each : progress_.counts) total += each;
  return total;
}

core::Outcome<void> DedupRun::Continue(const DedupProgress& from) {
  progress_ = from;
  continues_ = true;
  if (from.is_complete) {
    outputs_.Expect(from.output_bytes);
    return {};
  }
  if (auto continued = outputs_.Continue(from.output_bytes); !continued) return continued;
  auto skipped = reader_.SkipTo(from.position);
  was_interrupted_ = !skipped && is_interrupted_();  // waiting for the input then ends with an error
  if (was_interrupted_) return {};
  return skipped;
}

core::Outcome<void> DedupRun::Run() {
  if (!progress_.is_complete) {
    auto done = RunBlocks();
    const bool can_continue = !settings_.checkpoint.empty();
    if (!done || was_interrupted_) {
      if (!can_continue) outputs_.Discard();
      return done;
    }
  }
  return FinishFiles();
}

core::Outcome<void> DedupRun::RunBlocks() {
  if (!continues_) {
    if (auto begun = outputs_.Begin(); !begun) return begun;
  }
  for (size_t i = 0; i < kBlocks; ++i) free_.Put(BlockReader::MakeBlock(settings_.input.limits));
  std::thread reading([this] { ReadBlocks(); });
  core::Outcome<void> done;
  {
    BlockWriter writer(outputs_, free_);
    while (auto block = full_.Take()) {
      done = WorkOn(*block, writer);
      if (!done || IsStopped()) break;
    }
    stop_ = true;
    free_.Close();
    reading.join();
    auto written = writer.Drain();
    if (done) done = written;
  }
  was_interrupted_ = is_interrupted_() && progress_.position.input < settings_.input.paths.size();
  if (done && !was_interrupted_) done = read_;
  if (done && !was_interrupted_) done = outputs_.End();
  if (was_interrupted_ && done && !settings_.checkpoint.empty()) done = SaveCheckpoint();
  return done;
}

void DedupRun::ReadBlocks() {
  while (auto block = free_.Take()) {
    read_ = reader_.Read(*block);
    const bool is_last = block->is_last;
    if (!read_) break;
    full_.Put(std::move(*block));
    if (is_last) break;
  }
  full_.Close();
}

core::Outcome<void> DedupRun::WorkOn(Block& block, BlockWriter& writer) {
  if (auto done = deduplicator_.Run(block); !done) return done;
  Count(block);
  progress_.position = block.end;
  const DedupCounts all = total();
  shown_.Show({all.records, all.kept, all.records - all.kept - all.bad, all.bad}, block.file_bytes_read);
  writer.Put(std::move(block));
  if (writer.has_failed()) return writer.Drain();
  return SaveCheckpointIfDue(writer);
}

void DedupRun::Count(const Block& block) {
  for (const Chunk& chunk : block.chunks) {
    DedupCounts& counts = progress_.counts[chunk.input];
    if (!chunk.is_header) counts.records += chunk.records;
    counts.kept += chunk.kept_records;
    counts.bad += chunk.bad_records;
    counts.bytes += block.EndOf(chunk, chunk.records - 1) - chunk.begin;
    counts.kept_bytes += chunk.kept_bytes;
  }
}

// Writing what was seen takes time in proportion to its size: a twentieth of the run's, at most.
core::Outcome<void> DedupRun::SaveCheckpointIfDue(BlockWriter& writer) {
  constexpr int kTimesAsLong = 20;
  if (settings_.checkpoint.empty()) return {};
  const auto since = SteadyClock::now() - saved_;
  if (since < settings_.between_checkpoints || since < kTimesAsLong * saving_) return {};
  if (auto written = writer.Drain(); !written) return written;
  return SaveCheckpoint();
}

core::Outcome<void> DedupRun::SaveCheckpoint() {
  const auto begin = SteadyClock::now();
  if (auto synced = outputs_.Sync(); !synced) return synced;
  progress_.output_bytes = outputs_.bytes();
  auto saved = AsOutcome(WriteDedupState(disk_, settings_.checkpoint, seen_, &progress_));
  saved_ = SteadyClock::now();
  saving_ = saved_ - begin;
  return saved;
}

// The state says that items were seen: it gets its name after the outputs that have them, which are on the disk then.
core::Outcome<void> DedupRun::FinishFiles() {
  const bool can_continue = !settings_.checkpoint.empty();
  if (can_continue && !progress_.is_complete) {
    progress_.is_complete = true;
    if (auto saved = SaveCheckpoint(); !saved) return saved;
  }
  if (!settings_.state.empty()) {
    if (auto synced = outputs_.Sync(); !synced) return synced;
  }
  if (auto finished = outputs_.Finish(); !finished) return finished;
  if (!settings_.state.empty()) {
    core::Status saved = outputs_.are_files() ? disk_.SyncDirectory(outputs_.directory()) : core::Status();
    if (saved) saved = WriteDedupState(disk_, settings_.state, seen_, can_continue ? &progress_ : nullptr);
    if (!saved) return AsOutcome(saved);
  }
  if (!can_continue) return {};
  return AsOutcome(disk_.Remove(settings_.checkpoint));
}

}  // namespace bitsieve::cli
