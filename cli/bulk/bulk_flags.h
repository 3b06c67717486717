// bulk_flags.h: the flags of subcommands that send the items of an input to a server: what an item is, and where the
// server is. Confined to the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/bulk/input.h"
#include "cli/bulk/pipeline.h"
#include "cli/bulk/record_flags.h"
#include "cli/bulk/record_reader.h"
#include "cli/client/connection_flags.h"
#include "config/flags.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class BulkFlags {
 public:
  // They must not move afterwards.
  void AddTo(CLI::App& command);
  // Adds the flag for the time of items, for commands that add them.
  void AddTtlFieldTo(CLI::App& command);
  bool has_ttl_field() const { return !ttl_field_.empty(); }
  // Nothing if something is wrong, which is then explained on standard error.
  std::optional<Pipeline::Settings> Settings(const CLI::App& command) const;
  RecordFormat Format() const;
  core::Outcome<Input> Open(const std::string& path) const { return records_.Open(path); }
  core::Outcome<Input> Open(const std::string& path, Input::IsStopped is_stopped) const {
    return records_.Open(path, std::move(is_stopped));
  }

 private:
  config::Flags flags_;
  ConnectionFlags connection_;
  RecordFlags records_;
  std::string ttl_field_;
  size_t connections_ = 2;
  unsigned retry_s_ = 60;
};

}  // namespace bitsieve::cli
