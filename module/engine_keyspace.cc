#include "module/engine_keyspace.h"

#include <cassert>
#include <cstdlib>

#include "module/content_limit.h"
#include "module/freezing.h"

namespace bitsieve::module {

bool EngineKeyspace::Open(engine::Context* context, engine::String* string, std::string_view name, bool write) {
  engine::Key* const key = engine::OpenKey(context, string, write ? engine::kRead | engine::kWrite : engine::kRead);
  opened_.push_back({name, string, key, nullptr});
  if (key == nullptr) return true;
  // For a value that is not a module's, and for none, the engine returns null as the type.
  engine::Type* const type = engine::ModuleTypeGetType(key);
  if (type == nullptr) return engine::KeyType(key) == engine::kKeyEmpty;
  if (!IsFilterType(type)) return false;
  opened_.back().slot = static_cast<Slot*>(engine::ModuleTypeGetValue(key));
  return true;
}

void EngineKeyspace::CloseAll() {
  for (const Opened& each : opened_) {
    if (each.key != nullptr) engine::CloseKey(each.key);
  }
  opened_.clear();
  last_ = 0;
  effects_ = {};
}

// Handlers ask with views of their arguments, so most are found by address.
const EngineKeyspace::Opened& EngineKeyspace::At(std::string_view name) const {
  for (size_t i = 0; i < opened_.size(); ++i) {
    const size_t index = (last_ + i) % opened_.size();
    const Opened& each = opened_[index];
    if (each.name.data() != name.data() && each.name != name) continue;
    last_ = index;
    return each;
  }
  assert(false && "a handler looks up a key that its row does not name");
  std::abort();
}

FilterPtr EngineKeyspace::Find(std::string_view name) const {
  const Slot* const slot = At(name).slot;
  return slot == nullptr ? nullptr : slot->filter;
}

void EngineKeyspace::Set(Opened& at, FilterPtr filter) {
  effects_.created = true;
  effects_.pristine = filter->pristine();
  at.slot = NewSlot(std::move(filter));
  engine::ModuleTypeSetValue(at.key, TypeOf(*at.slot->filter), at.slot);
}

FilterPtr EngineKeyspace::InsertIfAbsent(std::string_view name, FilterPtr filter, int64_t /*expires_ms*/) {
  Opened& at = At(name);
  if (at.slot == nullptr) Set(at, std::move(filter));
  return at.slot->filter;
}

bool EngineKeyspace::Put(std::string_view name, FilterPtr filter, int64_t /*expires_ms*/) {
  Set(At(name), std::move(filter));
  return true;
}

bool EngineKeyspace::Replace(std::string_view name, const FilterPtr& expected, FilterPtr replacement) {
  Opened& at = At(name);
  if (at.slot == nullptr || at.slot->filter != expected) return false;
  at.slot->filter = std::move(replacement);
  effects_.rewritten = true;
  return true;
}

core::Result<bool> EngineKeyspace::ReplaceFolded(std::string_view name, core::FilterFold& fold) {
  if (Find(name) != fold.filter()) return false;
  if (core::Status status = fold.TakeOver(); !status) return tl::unexpected(std::move(status).error());
  return Replace(name, fold.filter(), fold.folded());
}

core::Status EngineKeyspace::LogRewrite(const FilterPtr& /*filter*/) {
  effects_.rewritten = true;
  return {};
}

core::MemoryBudget& EngineKeyspace::memory() {
  ContentLimit::BeginNew();
  return Budget();
}

void EngineKeyspace::Freeze(std::string_view name, const FilterPtr& closed) {
  Slot* const slot = At(name).slot;
  assert(slot != nullptr && slot->filter == closed);
  if (slot == nullptr || slot->filter != closed) return;
  effects_.rewritten = true;
  module::Freeze(*slot);
}

}  // namespace bitsieve::module
