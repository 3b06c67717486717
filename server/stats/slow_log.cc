#include "server/stats/slow_log.h"

#include <algorithm>
#include <utility>

namespace bitsieve::server {

void SlowLog::Add(SlowCommand command) {
  std::deque<SlowCommand> dying;
  const core::LockGuard lock(mutex_);
  ++summary_.commands;
  if (command.us >= summary_.slowest_us) {
    summary_.slowest_us = command.us;
    summary_.slowest = command.arguments.front();
  }
  command.id = next_id_++;
  commands_.push_front(std::move(command));
  Shorten(dying);
}

std::vector<SlowCommand> SlowLog::Newest(size_t count) const {
  const core::LockGuard lock(mutex_);
  const auto end = commands_.begin() + static_cast<std::ptrdiff_t>(std::min(count, commands_.size()));
  return {commands_.begin(), end};
}

size_t SlowLog::Size() const {
  const core::LockGuard lock(mutex_);
  return commands_.size();
}

void SlowLog::Clear() {
  std::deque<SlowCommand> dying;
  const core::LockGuard lock(mutex_);
  dying.swap(commands_);
}

void SlowLog::set_max_size(size_t commands) {
  std::deque<SlowCommand> dying;
  const core::LockGuard lock(mutex_);
  max_size_ = commands;
  Shorten(dying);
}

SlowLog::Summary SlowLog::TakeSummary() {
  const core::LockGuard lock(mutex_);
  return std::exchange(summary_, {});
}

void SlowLog::Shorten(std::deque<SlowCommand>& dying) {
  while (commands_.size() > max_size_) {
    dying.push_back(std::move(commands_.back()));
    commands_.pop_back();
  }
}

}  // namespace bitsieve::server
