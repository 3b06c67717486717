#include "commands/argument_reader.h"

namespace bitsieve::commands {

std::string_view ArgumentReader::Next(std::string_view missing) {
  if (!ok()) return {};
  if (AtEnd()) {
    Fail(missing);
    return {};
  }
  return arguments_[next_++];
}

bool ArgumentReader::Skip(std::string_view keyword) {
  if (!More() || !EqualsIgnoringCase(Peek(), keyword)) return false;
  ++next_;
  return true;
}

template <class Number>
Number ArgumentReader::Parsed(std::optional<Number> number, std::string_view malformed) {
  if (!number) Fail(malformed);
  return number.value_or(Number{});
}

int64_t ArgumentReader::Integer(std::string_view missing, std::string_view malformed) {
  const std::string_view text = Next(missing);
  return Parsed(ParseInteger(text), malformed);
}

uint64_t ArgumentReader::Unsigned(std::string_view missing, std::string_view malformed) {
  const std::string_view text = Next(missing);
  return Parsed(ParseUnsigned(text), malformed);
}

double ArgumentReader::Double(std::string_view missing, std::string_view malformed) {
  const std::string_view text = Next(missing);
  return Parsed(ParseDouble(text), malformed);
}

Arguments ArgumentReader::Rest() {
  const Arguments rest = ok() && !AtEnd() ? arguments_.subspan(next_) : Arguments{};
  next_ = arguments_.size();
  return rest;
}

}  // namespace bitsieve::commands
