#include "protocol/request_parser.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "core/base/quote.h"
#include "protocol/plain_line.h"

namespace bitsieve::protocol {
namespace {

// A longer number cannot be a length; 19 digits always fit into 64 bits.
constexpr size_t kMaxDigits = 19;
// Extents in a block. A parser keeps the memory of one.
constexpr size_t kBlockExtents = 1024;

enum class Header : uint8_t { kComplete, kIncomplete, kMalformed, kTooLong };

inline bool IsLineEnd(const char* bytes) { return std::memcmp(bytes, "\r\n", 2) == 0; }

inline unsigned Digit(char c) { return static_cast<unsigned char>(c) - unsigned{'0'}; }

// Reads a decimal number and its line end at `position`, which is moved past both if kComplete.
// A loop over the digits: header lines are so short that memchr costs more than it saves.
Header ReadNumber(std::string_view input, size_t& position, uint64_t& number) {
  const std::string_view rest = input.substr(position);
  size_t digits = 0;
  uint64_t value = 0;
  for (; digits < rest.size() && Digit(rest[digits]) <= 9; ++digits) {
    if (digits == 1 && value == 0) return Header::kMalformed;
    if (digits == kMaxDigits) return Header::kTooLong;
    value = value * 10 + Digit(rest[digits]);
  }
  if (rest.size() == digits) return Header::kIncomplete;
  if (digits == 0 || rest[digits] != '\r') return Header::kMalformed;
  if (rest.size() == digits + 1) return Header::kIncomplete;
  if (rest[digits + 1] != '\n') return Header::kMalformed;
  number = value;
  position += digits + 2;
  return Header::kComplete;
}

// The hot path reads headers of one or two digits, "*3\r\n" or "$16\r\n", by hand. Returns the header's size, or 0 if
// something else is there, be it right or wrong. `text` must have kShortHeaderBytes bytes.
constexpr size_t kShortHeaderBytes = 5;

inline size_t ReadShortHeader(const char* text, size_t& number) {
  const size_t first = Digit(text[1]);
  if (IsLineEnd(text + 2)) {
    number = first;
    return first <= 9 ? 4 : 0;
  }
  const size_t second = Digit(text[2]);
  number = first * 10 + second;
  return first - 1 < 9 && second <= 9 && IsLineEnd(text + 3) ? 5 : 0;
}

// Reads a complete bulk string at `position`, with a short header and at most `max_length` bytes, appends it and moves
// past it. False for anything else.
//
// The view is made in its place: one made elsewhere is stored as two words and copied as one vector, and that load has
// to wait until both stores have reached the cache.
inline bool ReadShortBulk(std::string_view input, size_t max_length, size_t& position,
                          std::vector<std::string_view>& arguments) {
  const size_t available = input.size() - position;
  const char* const text = input.data() + position;
  size_t length = 0;
  if (available < kShortHeaderBytes || text[0] != '$') return false;
  const size_t header = ReadShortHeader(text, length);
  if (header == 0 || length > max_length || available < header + length + 2) return false;
  if (!IsLineEnd(text + header + length)) return false;
  arguments.emplace_back(text + header, length);
  position += header + length + 2;
  return true;
}

uint64_t Word(const char* text) {
  uint64_t word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

// The items of a command are often of one length: then all have the same header, which is compared as one word. With
// this many arguments missing it is worth trying.
constexpr size_t kRunFrom = 8;

// After a bulk string that ReadShortBulk has read: reads on as long as complete bulk strings of the same length follow,
// at most `most`, appends them and moves past them. Returns how many they were. It stops a word before the input's end.
inline size_t ReadRun(std::string_view input, size_t most, size_t& position, std::vector<std::string_view>& arguments) {
  static_assert(std::endian::native == std::endian::little, "the first bytes of a word are its lowest");
  const size_t length = arguments.back().size();
  const size_t header = length <= 9 ? 4 : 5;
  const size_t size = header + length + 2;
  const size_t needed = size + sizeof(uint64_t);
  if (input.size() - position < needed) return 0;
  const uint64_t mask = (uint64_t{1} << (8 * header)) - 1;
  const uint64_t expected = Word(arguments.back().data() - header) & mask;
  size_t count = 0;
  for (; count < most && input.size() - position >= needed; ++count) {
    const char* const text = input.data() + position;
    if ((Word(text) & mask) != expected || !IsLineEnd(text + size - 2)) break;
    arguments.emplace_back(text + header, length);
    position += size;
  }
  return count;
}

std::string ForMessage(char c) { return core::IsPrintable(c) ? std::string(1, c) : core::HexEscaped(c); }

}  // namespace

RequestParser::Result RequestParser::Parse(std::span<char> input, std::vector<std::string_view>& arguments) {
  assert(input.size() >= position_);
  if (!error_.empty()) [[unlikely]]
    return {Status::kError, 0};
  if (missing_ == 0) {
    if (input.empty()) return {Status::kNeedMore, 0};
    if (input[0] != '*') return ParseLine(input, arguments);
  }
  return ParseArray({input.data(), input.size()}, arguments);
}

RequestParser::Result RequestParser::ParseLine(std::span<char> input, std::vector<std::string_view>& arguments) {
  const size_t max_length = std::min(limits_->max_line_bytes, limits_->max_request_bytes);
  const size_t searchable = std::min(input.size(), max_length + 2);  // the line end may take two bytes
  const size_t newline = std::string_view(input.data(), searchable).find('\n', position_);
  if (newline == std::string_view::npos && searchable < max_length + 2) {
    position_ = searchable;
    return {Status::kNeedMore, 0};
  }
  const size_t end = std::min(newline, searchable);
  const size_t length = end > 0 && input[end - 1] == '\r' ? end - 1 : end;
  if (length > max_length) return {TooLarge("too big inline request", max_length, "bytes (max-line-bytes)"), 0};
  position_ = 0;
  const size_t first = arguments.size();
  const bool balanced = SplitPlainLine(input.first(length), arguments);
  const Status status =
      balanced ? CheckLine(std::span(arguments).subspan(first)) : Fail("unbalanced quotes in request");
  if (status == Status::kError) {
    arguments.resize(first);
    return {status, 0};
  }
  return {status, end + 1};
}

RequestParser::Status RequestParser::CheckLine(std::span<const std::string_view> arguments) {
  if (arguments.size() > limits_->max_arguments) {
    return TooLarge("too big inline request", limits_->max_arguments, "arguments (max-arguments)");
  }
  for (const std::string_view argument : arguments) {
    if (argument.size() > limits_->max_argument_bytes) {
      return TooLarge("too big inline request", limits_->max_argument_bytes, "bytes an argument (max-argument-bytes)");
    }
  }
  return arguments.empty() ? Status::kNothing : Status::kCommand;
}

// Reads "*COUNT\r\n" at the start: kCommand if `count` arguments follow, kNothing if none do. A negative count is none,
// as in Redis.
inline RequestParser::Status RequestParser::ReadCount(std::string_view input, size_t& position, uint64_t& count) {
  if (input.size() >= kShortHeaderBytes) [[likely]] {
    position = ReadShortHeader(input.data(), count);
    if (position != 0 && count - 1 < limits_->max_arguments) [[likely]]
      return Status::kCommand;
  }
  return ReadLongCount(input, position, count);
}

// The general case of ReadCount().
RequestParser::Status RequestParser::ReadLongCount(std::string_view input, size_t& position, uint64_t& count) {
  position = 0;
  const bool negative = input.size() > 1 && input[1] == '-';
  size_t end = negative ? 2 : 1;
  const Header header = ReadNumber(input, end, count);
  if (header != Header::kComplete) {
    if (header == Header::kIncomplete) return Status::kNeedMore;
    return Fail(header == Header::kTooLong ? "too big mbulk count string" : "invalid multibulk length");
  }
  if (negative && count == 0) return Fail("invalid multibulk length");
  if (!negative && count > limits_->max_arguments) {
    return TooLarge("invalid multibulk length", limits_->max_arguments, "arguments (max-arguments)");
  }
  position = end;
  return negative || count == 0 ? Status::kNothing : Status::kCommand;
}

// Reads "$LENGTH\r\nBYTES\r\n" at position_: if that is complete (kCommand), appends it and moves past it.
RequestParser::Status RequestParser::ReadBulk(std::string_view input, std::vector<std::string_view>& arguments) {
  if (position_ == input.size()) [[unlikely]]
    return Status::kNeedMore;
  if (input[position_] != '$') [[unlikely]]
    return Fail("expected '$', got '" + ForMessage(input[position_]) + "'");
  size_t begin = position_ + 1;
  uint64_t length = 0;
  const Header header = ReadNumber(input, begin, length);
  if (header != Header::kComplete) [[unlikely]] {
    if (header == Header::kIncomplete) return Status::kNeedMore;
    return Fail(header == Header::kTooLong ? "too big bulk count string" : "invalid bulk length");
  }
  if (length > limits_->max_argument_bytes) [[unlikely]]
    return TooLarge("invalid bulk length", limits_->max_argument_bytes, "bytes an argument (max-argument-bytes)");
  const size_t end = begin + length;
  if (end + 2 > limits_->max_request_bytes) [[unlikely]]
    return TooLarge("too big request", limits_->max_request_bytes, "bytes (max-request-bytes)");
  if (end + 2 > input.size()) [[unlikely]]
    return Status::kNeedMore;
  if (input[end] != '\r' || input[end + 1] != '\n') [[unlikely]]
    return Fail("bulk string longer than its length: expected CRLF after " + std::to_string(length) + " bytes");
  arguments.emplace_back(input.data() + begin, length);
  position_ = end + 2;
  return Status::kCommand;
}

RequestParser::Result RequestParser::ParseArray(std::string_view input, std::vector<std::string_view>& arguments) {
  size_t position = position_;
  uint64_t missing = missing_;
  if (missing == 0) {
    const Status status = ReadCount(input, position, missing);
    if (status != Status::kCommand) [[unlikely]]
      return {status, position};  // 0, unless it is kNothing
  }
  const size_t first = arguments.size();
  const std::string_view allowed = input.substr(0, limits_->max_request_bytes);
  const size_t max_short = std::min<size_t>(limits_->max_argument_bytes, 99);
  for (; missing > 0; --missing) {
    if (ReadShortBulk(allowed, max_short, position, arguments)) [[likely]] {
      if (missing > kRunFrom) missing -= ReadRun(allowed, missing - 1, position, arguments);
      continue;
    }
    missing_ = missing;
    position_ = position;
    const Status status = ReadBulk(input, arguments);
    if (status != Status::kCommand) {
      Suspend(input, first, arguments);
      return {status, 0};
    }
    position = position_;
  }
  missing_ = 0;
  if (!extents_.empty() && !extents_[0].empty()) [[unlikely]]
    Resume(input, first, arguments);
  position_ = 0;
  return {Status::kCommand, position};
}

// Keeps what was found so far, until there are more bytes.
void RequestParser::Suspend(std::string_view input, size_t first, std::vector<std::string_view>& arguments) {
  for (size_t i = first; i < arguments.size(); ++i) {
    AddExtent({static_cast<size_t>(arguments[i].data() - input.data()), arguments[i].size()});
  }
  arguments.resize(first);
}

void RequestParser::AddExtent(const Extent& extent) {
  if (extents_.empty() || extents_.back().size() == kBlockExtents) extents_.emplace_back();
  extents_.back().push_back(extent);
}

size_t RequestParser::memory_bytes() const {
  if (extents_.empty()) return 0;
  const size_t extents = (extents_.size() - 1) * kBlockExtents + extents_.back().capacity();
  return extents_.capacity() * sizeof(extents_[0]) + extents * sizeof(Extent);
}

// Puts the arguments found by earlier calls before those of this one.
void RequestParser::Resume(std::string_view input, size_t first, std::vector<std::string_view>& arguments) {
  const std::vector<std::string_view> latest(arguments.begin() + static_cast<ptrdiff_t>(first), arguments.end());
  arguments.resize(first);
  arguments.reserve(first + (extents_.size() - 1) * kBlockExtents + extents_.back().size() + latest.size());
  for (const std::vector<Extent>& block : extents_) {
    for (const Extent& extent : block) arguments.push_back(input.substr(extent.offset, extent.length));
  }
  arguments.insert(arguments.end(), latest.begin(), latest.end());
  if (extents_.size() > 1) {
    std::vector<std::vector<Extent>>().swap(extents_);
  } else {
    extents_[0].clear();
  }
}

RequestParser::Status RequestParser::Fail(std::string_view what) {
  error_ = "ERR Protocol error: ";
  error_ += what;
  return Status::kError;
}

RequestParser::Status RequestParser::TooLarge(std::string_view what, size_t limit, std::string_view unit) {
  return Fail(std::string(what) + ": at most " + std::to_string(limit) + ' ' + std::string(unit));
}

}  // namespace bitsieve::protocol
