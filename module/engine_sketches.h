// engine_sketches.h: what commands on sketches know as keyspace, over the engine's keys. Keys are opened as a handler
// asks for them, since some commands name keys that their rows do not, and closed after it. Confined to the engine's
// main thread.
#pragma once

#include <string_view>
#include <vector>

#include "commands/sketch_keyspace.h"
#include "module/engine_api.h"

namespace bitsieve::module {

class EngineSketches final : public commands::SketchKeyspace {
 public:
  // The command that is to run. With `writes` its first key is opened to write.
  void Begin(engine::Context* context, engine::String** argv, int argc, bool writes);
  // Returns whether it called MarkChanged.
  bool changed() const { return changed_; }
  void CloseAll();

  commands::SketchKey Find(std::string_view key) override;
  void Put(commands::Sketch sketch) override;
  void MarkChanged() override { changed_ = true; }
  bool Grants(uint64_t bytes) override;
  core::MemoryBudget& memory() override;

 private:
  engine::Context* context_ = nullptr;
  engine::String** argv_ = nullptr;
  int argc_ = 0;
  bool writes_ = false;
  bool changed_ = false;
  engine::Key* first_ = nullptr;  // of those opened, that of the command's first key
  std::vector<engine::Key*> opened_;
};

}  // namespace bitsieve::module
