// json_writer.h: writes JSON into a string as it goes. It builds no tree, so memory that is refused is an exception
// where a value is written, and nothing more: only the text is incomplete then.
// Thread-compatible.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bitsieve::core {

// Bytes of the UTF-8 character that `text`, which is not empty, begins with; 0 if it begins with none.
size_t Utf8CharacterBytes(std::string_view text);

namespace json {

// Returns how this byte is written within a string; empty if as it is. `room` holds an escape that is made here.
std::string_view Escape(char c, char (&room)[6]);

}  // namespace json

// Appends a JSON string in quotes; whatever is not UTF-8 becomes U+FFFD. `Out` is a std::string, or a buffer that has
// the same append(begin, end).
template <class Out>
void AppendJsonString(std::string_view text, Out& out) {
  constexpr std::string_view kQuote = "\"", kReplacement = "\xEF\xBF\xBD";
  const auto append = [&out](std::string_view part) { out.append(part.data(), part.data() + part.size()); };
  append(kQuote);
  while (!text.empty()) {
    const size_t bytes = Utf8CharacterBytes(text);
    char room[6];
    const std::string_view escaped = bytes == 1 ? json::Escape(text[0], room) : std::string_view();
    append(bytes == 0 ? kReplacement : escaped.empty() ? text.substr(0, bytes) : escaped);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  append(kQuote);
}

class JsonWriter {
 public:
  // Appends to `out`, which outlives the writer.
  explicit JsonWriter(std::string& out) : out_(out) {}

  // Between them are members, each a Key and a value; or values.
  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }

  void Key(std::string_view name) {
    BeginValue();
    AppendJsonString(name, out_);
    out_ += ':';
    has_before_ = false;
  }

  void Null() { Raw("null"); }
  void Value(std::string_view text) {
    BeginValue();
    AppendJsonString(text, out_);
  }
  void Value(const char* text) { Value(std::string_view(text)); }
  void Value(const std::string& text) { Value(std::string_view(text)); }
  // The shortest text that gives the same number; JSON has no infinity, which becomes null.
  void Value(double number) { std::isfinite(number) ? Number(number) : Null(); }
  void Value(bool is_true) { Raw(is_true ? "true" : "false"); }
  template <std::integral Integer>
  void Value(Integer number) {
    Number(number);
  }
  template <class T>
  void Value(const std::optional<T>& value) {
    value ? Value(*value) : Null();
  }

  template <class T>
  void Member(std::string_view name, const T& value) {
    Key(name);
    Value(value);
  }

 private:
  void BeginValue() {
    if (has_before_) out_ += ',';
    has_before_ = true;
  }
  void Raw(std::string_view text) {
    BeginValue();
    out_ += text;
  }
  template <class T>
  void Number(T number) {
    char text[32];
    Raw({text, std::to_chars(text, text + sizeof text, number).ptr});
  }
  void Begin(char bracket) {
    BeginValue();
    out_ += bracket;
    has_before_ = false;
  }
  void End(char bracket) {
    out_ += bracket;
    has_before_ = true;
  }

  std::string& out_;
  bool has_before_ = false;  // a member or value, which a comma divides from the next one
};

}  // namespace bitsieve::core
