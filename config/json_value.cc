#include "config/json_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/json_writer.h"

namespace bitsieve::config {
namespace {

using nlohmann::json;
using Kind = JsonValue::Kind;

// The library calls these as it reads. A false return value ends the reading.
class Reader : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Add({.kind = Kind::kNull, .text = "null"}); }
  bool boolean(bool value) override { return Add({.kind = Kind::kBoolean, .text = value ? "true" : "false"}); }
  bool number_integer(number_integer_t value) override { return AddNumber(value); }
  bool number_unsigned(number_unsigned_t value) override { return AddNumber(value); }
  bool number_float(number_float_t value, const string_t&) override { return AddNumber(value); }
  bool string(string_t& value) override { return Add({.kind = Kind::kString, .text = std::move(value)}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override {
    names_.emplace_back();
    return Open({.kind = Kind::kObject});
  }
  bool key(string_t& name) override {
    if (++names_.back()[name] == 2) read_.repeated.push_back(name);
    name_ = std::move(name);
    return true;
  }
  bool end_object() override {
    names_.pop_back();
    return Close();
  }
  bool start_array(size_t) override { return Open({.kind = Kind::kArray}); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string_view text = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    error_ = text.substr(text.find("] ") + 2);
    return false;
  }

  JsonText& read() { return read_; }
  std::string& error() { return error_; }

 private:
  template <class Number>
  bool AddNumber(Number value) {
    return Add({.kind = Kind::kNumber, .text = json(value).dump()});
  }
  // Null: it is nested too deep.
  JsonValue* Place(JsonValue value) {
    if (open_.empty()) return &(read_.value = std::move(value));
    if (depth_ > open_.size() || open_.size() == kMaxJsonDepth) return nullptr;
    JsonValue& parent = *open_.back();
    if (parent.kind == Kind::kArray) return &parent.items.emplace_back(std::move(value));
    const auto found = std::ranges::find(parent.members, name_, &std::pair<std::string, JsonValue>::first);
    if (found != parent.members.end()) return &(found->second = std::move(value));
    return &parent.members.emplace_back(std::move(name_), std::move(value)).second;
  }
  bool Add(JsonValue value) {
    Place(std::move(value));
    return true;
  }
  bool Open(JsonValue value) {
    JsonValue* const placed = Place(std::move(value));
    ++depth_;
    if (placed != nullptr) open_.push_back(placed);
    return true;
  }
  bool Close() {
    if (depth_-- == open_.size()) open_.pop_back();
    return true;
  }

  JsonText read_;
  std::vector<JsonValue*> open_;  // innermost last: a value moves only when it is closed, with those after it
  size_t depth_ = 0;              // of what is open; more than open_ has if some are left out
  std::string name_;              // of the value that follows
  std::vector<std::map<std::string, int>> names_;  // of the objects that are open: how often each was there
  std::string error_;
};

}  // namespace

std::string_view NameOf(JsonValue::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"null", "boolean", "number", "string", "array", "object"};
  return kNames[static_cast<size_t>(kind)];
}

std::string Described(const JsonValue& value) {
  std::string text(NameOf(value.kind));
  if (value.kind == Kind::kArray || value.kind == Kind::kObject) return text;
  text += ' ';
  if (value.kind != Kind::kString) return text + value.text;
  core::AppendJsonString(value.text, text);
  return text;
}

core::Outcome<JsonText> ReadJson(std::string_view text) {
  Reader reader;
  const bool strict = true;
  const bool ignore_comments = true;
  if (json::sax_parse(text, &reader, json::input_format_t::json, strict, ignore_comments)) {
    return std::move(reader.read());
  }
  return tl::unexpected(std::move(reader.error()));
}

}  // namespace bitsieve::config
