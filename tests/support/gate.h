// gate.h: stops the steps of a FaultDisk at a chosen place, as its hook. Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace bitsieve::server {

// Steps whose description begins with a prefix wait at it while it is closed.
class Gate {
 public:
  void Close(std::string prefix) {
    const std::lock_guard lock(mutex_);
    prefix_ = std::move(prefix);
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    prefix_.reset();
    changed_.notify_all();
  }
  void Pass(const std::string& step) {
    std::unique_lock lock(mutex_);
    while (prefix_ && step.starts_with(*prefix_)) {
      has_stopped_ = true;
      changed_.notify_all();
      changed_.wait(lock);
    }
  }
  // Returns once a step has waited at the gate.
  void AwaitStop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_stopped_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> prefix_;
  bool has_stopped_ = false;
};

}  // namespace bitsieve::server
