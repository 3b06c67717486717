#include "protocol/plain_line.h"

#include <cstddef>

namespace bitsieve::protocol {
namespace {

// Returns what isspace() returns in the C locale.
bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Returns whether the character ends an unquoted word: not quite every blank does, as in Redis.
bool EndsWord(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

char Unescape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Reads one argument at a time; unescaped text is written at `write_`, which never overtakes `read_`.
class Splitter {
 public:
  explicit Splitter(std::span<char> line) : read_(line.data()), write_(read_), end_(read_ + line.size()) {}

  bool SkipBlanks() {
    while (read_ != end_ && IsBlank(*read_)) ++read_;
    return read_ != end_;
  }

  bool ReadArgument(std::string_view& argument) {
    char* const begin = write_ = read_;
    while (read_ != end_ && !EndsWord(*read_)) {
      const char c = *read_++;
      if (c == '"' || c == '\'') {
        if (!(c == '"' ? ReadDoubleQuoted() : ReadSingleQuoted())) return false;
        break;
      }
      *write_++ = c;
    }
    argument = {begin, static_cast<size_t>(write_ - begin)};
    return true;
  }

 private:
  bool ReadDoubleQuoted() {
    while (read_ != end_) {
      const char c = *read_++;
      if (c == '"') return AtArgumentEnd();
      *write_++ = c == '\\' && read_ != end_ ? ReadEscaped() : c;
    }
    return false;
  }

  bool ReadSingleQuoted() {
    while (read_ != end_) {
      const char c = *read_++;
      if (c == '\'') return AtArgumentEnd();
      *write_++ = c == '\\' && read_ != end_ && *read_ == '\'' ? *read_++ : c;
    }
    return false;
  }

  char ReadEscaped() {
    if (*read_ == 'x' && end_ - read_ >= 3) {
      const int high = HexDigit(read_[1]);
      const int low = HexDigit(read_[2]);
      if (high >= 0 && low >= 0) {
        read_ += 3;
        return static_cast<char>(high * 16 + low);
      }
    }
    return Unescape(*read_++);
  }

  bool AtArgumentEnd() const { return read_ == end_ || IsBlank(*read_); }

  char* read_;
  char* write_;
  char* const end_;
};

}  // namespace

bool SplitPlainLine(std::span<char> line, std::vector<std::string_view>& arguments) {
  Splitter splitter(line);
  while (splitter.SkipBlanks()) {
    std::string_view argument;
    if (!splitter.ReadArgument(argument)) return false;
    arguments.push_back(argument);
  }
  return true;
}

}  // namespace bitsieve::protocol
