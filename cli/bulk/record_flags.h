// record_flags.h: the flags of subcommands that read records of files: their format, and the part that is the item.
// Confined to the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "cli/bulk/input.h"
#include "cli/bulk/record_parser.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class RecordFlags {
 public:
  // They must not move afterwards.
  void AddTo(CLI::App& command);
  RecordFormat Format() const;
  bool decompresses() const { return !plain_; }
  core::Outcome<Input> Open(const std::string& path) const { return Input::Open(path, !plain_); }
  core::Outcome<Input> Open(const std::string& path, Input::IsStopped is_stopped) const {
    return Input::Open(path, !plain_, std::move(is_stopped));
  }

 private:
  std::string format_ = "lines";
  std::string field_;
  size_t record_bytes_ = 0;
  bool crlf_ = false;
  bool plain_ = false;
};

}  // namespace bitsieve::cli
