#include "cli/dedup/block_writer.h"

#include <utility>

namespace bitsieve::cli {

BlockWriter::BlockWriter(Outputs& outputs, Channel<Block>& free)
    : outputs_(outputs), free_(free), thread_([this] { RunThread(); }) {}

BlockWriter::~BlockWriter() {
  blocks_.Close();
  thread_.join();
}

void BlockWriter::Put(Block block) {
  {
    const core::LockGuard lock(mutex_);
    ++pending_;
  }
  blocks_.Put(std::move(block));
}

core::Outcome<void> BlockWriter::Drain() {
  const core::LockGuard lock(mutex_);
  while (pending_ != 0) written_.Wait(mutex_);
  return outcome_;
}

bool BlockWriter::has_failed() {
  const core::LockGuard lock(mutex_);
  return !outcome_.has_value();
}

void BlockWriter::RunThread() {
  while (auto block = blocks_.Take()) {
    core::Outcome<void> written;
    if (!has_failed()) written = outputs_.Write(*block);
    free_.Put(std::move(*block));
    const core::LockGuard lock(mutex_);
    if (!written) outcome_ = written;
    if (--pending_ == 0) written_.NotifyAll();
  }
}

}  // namespace bitsieve::cli
