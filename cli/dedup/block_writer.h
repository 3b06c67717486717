// block_writer.h: the thread that writes what is left of blocks, in order, and hands their memory back. Used by one
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <thread>

#include "cli/dedup/block.h"
#include "cli/dedup/channel.h"
#include "cli/dedup/outputs.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class BlockWriter {
 public:
  // Both outlive it.
  BlockWriter(Outputs& outputs, Channel<Block>& free);
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  void Put(Block block);
  // Waits until all blocks are written; until the next Put, the outputs are the caller's. The error: one could not be.
  core::Outcome<void> Drain();
  // Returns whether a block could not be written; all later ones are not, either.
  bool has_failed();

 private:
  void RunThread();

  Outputs& outputs_;
  Channel<Block>& free_;
  Channel<Block> blocks_;
  core::Mutex mutex_;
  core::ConditionVariable written_;
  size_t pending_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  core::Outcome<void> outcome_ BITSIEVE_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bitsieve::cli
