#include "module/engine_sketches.h"

#include <cassert>
#include <cstdlib>
#include <utility>

#include "module/content_limit.h"
#include "module/sketch_value.h"

namespace bitsieve::module {
namespace {

constexpr int kFirstKey = 1;

}  // namespace

void EngineSketches::Begin(engine::Context* context, engine::String** argv, int argc, bool writes) {
  context_ = context;
  argv_ = argv;
  argc_ = argc;
  writes_ = writes;
  changed_ = false;
}

void EngineSketches::CloseAll() {
  for (engine::Key* const key : opened_) engine::CloseKey(key);
  opened_.clear();
  first_ = nullptr;
}

commands::SketchKey EngineSketches::Find(std::string_view key) {
  int at = kFirstKey;
  while (at < argc_ && engine::TextOf(argv_[at]).data() != key.data()) ++at;
  assert(at < argc_ && "a handler looks up a key that is no argument");
  if (at >= argc_) std::abort();
  const bool write = writes_ && at == kFirstKey;
  engine::Key* const found =
      engine::OpenKey(context_, argv_[at], write ? engine::kRead | engine::kWrite : engine::kRead);
  if (found == nullptr) return {};
  opened_.push_back(found);
  if (at == kFirstKey) first_ = found;
  // For a value that is not a module's, and for none, the engine returns null as the type.
  engine::Type* const type = engine::ModuleTypeGetType(found);
  if (type == nullptr) return {.is_free = engine::KeyType(found) == engine::kKeyEmpty};
  if (!IsSketchType(type)) return {.is_free = false};
  return {.is_free = false, .sketch = static_cast<commands::Sketch*>(engine::ModuleTypeGetValue(found))};
}

void EngineSketches::Put(commands::Sketch sketch) {
  assert(first_ != nullptr && "a handler looks up its first key before it stores there");
  commands::Sketch* const stored = NewSketch(std::move(sketch));
  engine::ModuleTypeSetValue(first_, TypeOf(*stored), stored);
}

// The engine ends if its allocator is refused memory, so large blocks are tried first.
bool EngineSketches::Grants(uint64_t bytes) {
  if (!ContentLimit::Grant(bytes)) return false;
  void* const probe = engine::TryAlloc(bytes);
  if (probe == nullptr) return false;
  engine::Free(probe);
  return true;
}

core::MemoryBudget& EngineSketches::memory() { return SketchBudget(); }

}  // namespace bitsieve::module
