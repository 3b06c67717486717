// dump_commands.h: the commands that make a filter which the client itself has read: the chunks of a dump of it. Other
// servers' filters have no form of their own that keeps all that a file may say of them; a dump does. Confined to one
// thread.
#pragma once

#include <optional>

#include "cli/migrate/filter_source.h"
#include "core/filter/filter_dump.h"
#include "protocol/rdb/module_value.h"

namespace bitsieve::cli {

class DumpCommands final : public FilterCommands {
 public:
  explicit DumpCommands(rdb::ModuleValue value)
      : filter_(std::move(value.filter)), stream_(filter_->Capture()), is_to_be_frozen_(value.was_freezing) {}

  core::Outcome<std::optional<TargetCommand>> Next() override;

 private:
  core::FilterPtr filter_;
  core::DumpStream stream_;
  bool is_to_be_frozen_;
  uint64_t pieces_ = 0;
};

}  // namespace bitsieve::cli
