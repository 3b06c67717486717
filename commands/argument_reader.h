// argument_reader.h: reads a command's arguments in order and keeps the first error, so that a handler may read all it
// needs and ask ok() once. After an error every read gives a harmless value. Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/parse.h"

namespace bitsieve::commands {

using Arguments = std::span<const std::string_view>;

using core::EqualsIgnoringCase;
using core::ParseDouble;
using core::ParseInteger;
using core::ParseUnsigned;

class ArgumentReader {
 public:
  // Reads on from argument `next`.
  ArgumentReader(Arguments arguments, size_t next) : arguments_(arguments), next_(next) {}

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  bool AtEnd() const { return next_ >= arguments_.size(); }
  // Whether there is more to read and nothing went wrong so far: the condition of a loop over options.
  bool More() const { return ok() && !AtEnd(); }

  // The first error is kept.
  void Fail(std::string_view error) {
    if (ok()) error_ = error;
  }

  // The next argument, or `missing` as the error.
  std::string_view Next(std::string_view missing);
  // Reads past the next argument if it is `keyword`, in any case.
  bool Skip(std::string_view keyword);
  std::string_view Peek() const { return arguments_[next_]; }
  int64_t Integer(std::string_view missing, std::string_view malformed);
  uint64_t Unsigned(std::string_view missing, std::string_view malformed);
  double Double(std::string_view missing, std::string_view malformed);
  // All that is left; nothing is afterwards.
  Arguments Rest();

 private:
  template <class Number>
  Number Parsed(std::optional<Number> number, std::string_view malformed);

  Arguments arguments_;
  size_t next_;
  std::string error_;
};

}  // namespace bitsieve::commands
