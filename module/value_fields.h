// value_fields.h: the fields of a value through the engine, which frames them. Confined to the thread that the engine
// loads or saves on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "module/engine_api.h"
#include "protocol/rdb/module_value.h"

namespace bitsieve::module {

class EngineFields final : public rdb::ValueReader {
 public:
  explicit EngineFields(engine::Io* io) : io_(io) {}

  uint64_t Unsigned() override { return engine::LoadUnsigned(io_); }
  double Double() override { return engine::LoadDouble(io_); }
  rdb::ValueBytes Bytes() override {
    rdb::ValueBytes bytes{.memory = {nullptr, engine::Free}};
    size_t size = 0;
    bytes.memory.reset(engine::LoadStringBuffer(io_, &size));
    if (bytes.memory != nullptr) bytes.bytes = {bytes.memory.get(), size};
    return bytes;
  }
  bool failed() const override { return engine::IsIOError(io_) != 0; }

 private:
  engine::Io* const io_;
};

class SavedFields final : public rdb::ValueWriter {
 public:
  explicit SavedFields(engine::Io* io) : io_(io) {}

  void Unsigned(uint64_t value) override { engine::SaveUnsigned(io_, value); }
  void Double(double value) override { engine::SaveDouble(io_, value); }
  void Bytes(std::string_view bytes) override { engine::SaveStringBuffer(io_, bytes.data(), bytes.size()); }

 private:
  engine::Io* const io_;
};

}  // namespace bitsieve::module
