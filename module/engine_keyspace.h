// engine_keyspace.h: what filter commands know as keyspace, over the keys of the engine that one command names: they
// are opened before its handler runs and closed after it. It notes what the handler did to the first of them, the only
// one that a filter command changes. Confined to the engine's main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/keyspace.h"
#include "module/engine_api.h"
#include "module/filter_value.h"

namespace bitsieve::module {

class EngineKeyspace final : public commands::FilterKeyspace, public commands::FreezeQueue {
 public:
  // Effects of the command on its first key.
  struct Effects {
    bool created = false;    // it has a filter, and had none before
    bool pristine = false;   // ... an empty one
    bool rewritten = false;  // its filter was changed otherwise than by Add and Remove, or replaced
  };

  // Opens a key, to write or to read; false if it holds a value of another type.
  bool Open(engine::Context* context, engine::String* string, std::string_view name, bool write);
  void CloseAll();

  // Returns the slot of the first key; null while the key is free.
  Slot* first() const { return opened_.front().slot; }
  engine::String* first_string() const { return opened_.front().string; }
  const Effects& effects() const { return effects_; }
  // Calls visit(name, slot) for each key in the order of opening; the slot of a free one is null.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Opened& each : opened_) visit(each.name, each.slot);
  }

  core::Result<std::unique_ptr<commands::PreparedContent>> Prepare(const FilterPtr&) override { return nullptr; }
  FilterPtr Find(std::string_view name) const override;
  FilterPtr InsertIfAbsent(std::string_view name, FilterPtr filter, int64_t expires_ms) override;
  bool Put(std::string_view name, FilterPtr filter, int64_t expires_ms) override;
  bool Replace(std::string_view name, const FilterPtr& expected, FilterPtr replacement) override;
  core::Result<bool> ReplaceFolded(std::string_view name, core::FilterFold& fold) override;
  core::Status LogRewrite(const FilterPtr& filter) override;
  // A handler that calls it makes a new filter: what counts towards the limit of a filter's size (content_limit.h)
  // restarts from 0.
  core::MemoryBudget& memory() override;
  const core::Clock& clock() const override { return TheClock(); }

  void Freeze(std::string_view name, const FilterPtr& closed) override;

 private:
  struct Opened {
    std::string_view name;
    engine::String* string;
    engine::Key* key;  // null: there is none, and it was opened to read
    Slot* slot;        // null: there is none
  };

  const Opened& At(std::string_view name) const;
  Opened& At(std::string_view name) { return const_cast<Opened&>(std::as_const(*this).At(name)); }
  void Set(Opened& at, FilterPtr filter);

  std::vector<Opened> opened_;
  mutable size_t last_ = 0;  // that was looked up: most handlers go through them in order
  Effects effects_;
};

}  // namespace bitsieve::module
