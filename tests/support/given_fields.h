// given_fields.h: the fields of a module's value as a test gives them, and as it is given them. Thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <variant>

#include "protocol/rdb/sketch_value.h"

namespace bitsieve::rdb {

using ValueField = std::variant<uint64_t, double, std::string>;

// Fields as a module's reader has them, or, if it sees the kinds, that of a file. They outlive what is read.
class GivenFields final : public ValueReader {
 public:
  explicit GivenFields(std::deque<ValueField> fields, bool sees_kinds = false)
      : fields_(std::move(fields)), sees_kinds_(sees_kinds) {}

  uint64_t Unsigned() override { return Take<uint64_t>(); }
  double Double() override { return Take<double>(); }
  ValueBytes Bytes() override {
    texts_.push_back(Take<std::string>());
    return {.bytes = texts_.back()};
  }
  bool NextIsBytes() const override {
    return sees_kinds_ && !fields_.empty() && std::holds_alternative<std::string>(fields_.front());
  }
  bool failed() const override { return failed_; }

 private:
  template <class Value>
  Value Take() {
    if (failed_ || fields_.empty() || !std::holds_alternative<Value>(fields_.front())) {
      failed_ = true;
      return Value{};
    }
    Value value = std::get<Value>(std::move(fields_.front()));
    fields_.pop_front();
    return value;
  }

  std::deque<ValueField> fields_;
  const bool sees_kinds_;
  std::deque<std::string> texts_;
  bool failed_ = false;
};

class TakenFields final : public ValueWriter {
 public:
  void Unsigned(uint64_t value) override { fields.emplace_back(value); }
  void Double(double value) override { fields.emplace_back(value); }
  void Bytes(std::string_view bytes) override { fields.emplace_back(std::string(bytes)); }

  std::deque<ValueField> fields;
};

}  // namespace bitsieve::rdb
