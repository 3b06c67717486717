// filter_templates.h: how filters are made whose names fit a pattern, when BF.ADD, BF.MADD or BF.INSERT creates them. A
// template is a list of BF.INSERT's options and is read by the same code, so that what one takes the other does.
// Immutable once made: thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/create_options.h"
#include "commands/template_entry.h"
#include "core/base/result.h"
#include "core/filter/filter_params.h"

namespace bitsieve::commands {

class FilterTemplate {
 public:
  // Each problem names the entry, the field, the value and what would be right.
  static core::Outcome<FilterTemplate, std::vector<std::string>> Make(const TemplateEntry& entry);

  const std::string& pattern() const { return pattern_; }
  // Nothing if it leaves the type to default-type.
  std::optional<core::FilterType> type() const { return type_; }

  // Puts its options into `params` and `given`, as if they stood before all others. Without `own_type`: not its type
  // nor the options that only some types have.
  void Apply(bool own_type, core::FilterParams& params, GivenOptions& given) const;

 private:
  FilterTemplate() = default;

  void Read(const TemplateEntry& entry, std::vector<std::string>& problems);
  void Check(const std::string& where, std::vector<std::string>& problems) const;

  std::string pattern_;
  std::optional<core::FilterType> type_;
  std::vector<std::string> general_;  // words as BF.INSERT has them
  std::vector<std::string> of_type_;  // those that depend on the type, which is the first
};

class FilterTemplates {
 public:
  FilterTemplates() = default;  // none

  // Either all are valid, or all errors are reported together.
  static core::Outcome<FilterTemplates, std::vector<std::string>> Make(const std::vector<TemplateEntry>& entries);

  // The first whose pattern describes the name; null if there is none.
  const FilterTemplate* Find(std::string_view name) const;

 private:
  std::vector<FilterTemplate> templates_;
};

// Those in use, which can be replaced while commands read them. What was replaced is kept, since a command may still
// read it: it is as much as a configuration file holds, once for each time that somebody changed it. Find is
// thread-safe; Set is called by one thread at a time.
class CurrentTemplates {
 public:
  void Set(FilterTemplates templates) {
    kept_.push_back(std::make_unique<const FilterTemplates>(std::move(templates)));
    current_.store(kept_.back().get(), std::memory_order_release);
  }
  const FilterTemplate* Find(std::string_view name) const {
    const FilterTemplates* const current = current_.load(std::memory_order_acquire);
    return current == nullptr ? nullptr : current->Find(name);
  }

 private:
  std::vector<std::unique_ptr<const FilterTemplates>> kept_;
  std::atomic<const FilterTemplates*> current_{nullptr};  // null: there are none
};

}  // namespace bitsieve::commands
