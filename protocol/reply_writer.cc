#include "protocol/reply_writer.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>

namespace bitsieve::protocol {
namespace {

// A type byte, the 20 characters of the longest number, a line end.
constexpr size_t kMaxHeaderBytes = 24;
constexpr size_t kLongBytes = 64 * 1024;
// The longest double is 24 characters: "-2.2250738585072014e-308".
constexpr size_t kMaxDoubleBytes = 32;

uint32_t Word(const char (&text)[5]) {
  uint32_t word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

bool BreaksLine(char c) { return c == '\r' || c == '\n'; }
// An engine ends the errors of a module at the first NUL.
bool BreaksError(char c) { return BreaksLine(c) || c == '\0'; }

// Formats as Redis does: inf, -inf, and nan for either sign. Other numbers have the fewest digits that read back the
// same.
std::string_view FormatDouble(double value, char (&buffer)[kMaxDoubleBytes]) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general).ptr;
  return {buffer, static_cast<size_t>(end - buffer)};
}

}  // namespace

void ReplyWriter::SimpleString(std::string_view text) {
  assert(std::none_of(text.begin(), text.end(), BreaksLine));
  if (!Fits(text.size())) return;
  out_->push_back('+');
  out_->append(text).append("\r\n", 2);
}

void ReplyWriter::Error(std::string_view text) {
  if (!Fits(text.size())) return;
  out_->push_back('-');
  const size_t begin = out_->size();
  out_->append(text);
  std::replace_if(out_->begin() + static_cast<ptrdiff_t>(begin), out_->end(), BreaksError, ' ');
  out_->append("\r\n", 2);
}

void ReplyWriter::Integer(int64_t value) {
  constexpr char kSmall[] = ":0\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n";
  if (value >= 0 && value < 10) {
    out_->append(kSmall + value * 4, 4);
  } else {
    Header(':', value);
  }
}

void ReplyWriter::Boolean(bool value) {
  if (resp3()) {
    out_->append(value ? "#t\r\n" : "#f\r\n", 4);
  } else {
    out_->append(value ? ":1\r\n" : ":0\r\n", 4);
  }
}

// Each reply is a word, chosen without a branch, since answers about random items cannot be predicted.
void ReplyWriter::Booleans(std::span<const uint8_t> values) {
  const uint32_t no = resp3() ? Word("#f\r\n") : Word(":0\r\n");
  const uint32_t difference = no ^ (resp3() ? Word("#t\r\n") : Word(":1\r\n"));
  const size_t begin = out_->size();
  out_->resize(begin + values.size() * sizeof no);
  char* at = out_->data() + begin;
  for (const uint8_t value : values) {
    const uint32_t reply = no ^ (difference * value);
    std::memcpy(at, &reply, sizeof reply);
    at += sizeof reply;
  }
}

void ReplyWriter::Double(double value) {
  char buffer[kMaxDoubleBytes];
  const std::string_view text = FormatDouble(value, buffer);
  if (!resp3()) return BulkString(text);
  out_->push_back(',');
  out_->append(text).append("\r\n", 2);
}

void ReplyWriter::BulkString(std::string_view bytes) {
  if (!Fits(bytes.size())) return;
  // Else the line end could double the memory.
  if (bytes.size() >= kLongBytes) out_->reserve(out_->size() + bytes.size() + kMaxHeaderBytes + 2);
  Header('$', static_cast<int64_t>(bytes.size()));
  out_->append(bytes).append("\r\n", 2);
}

void ReplyWriter::BulkHeader(size_t bytes) { Header('$', static_cast<int64_t>(bytes)); }

void ReplyWriter::VerbatimText(std::string_view text) {
  if (!resp3()) return BulkString(text);
  if (!Fits(text.size())) return;
  constexpr std::string_view kFormat = "txt:";
  Header('=', static_cast<int64_t>(kFormat.size() + text.size()));
  out_->append(kFormat).append(text).append("\r\n", 2);
}

void ReplyWriter::Null() { out_->append(resp3() ? "_\r\n" : "$-1\r\n"); }

void ReplyWriter::NullArray() { out_->append(resp3() ? "_\r\n" : "*-1\r\n"); }

void ReplyWriter::ArrayHeader(size_t elements) { Header('*', static_cast<int64_t>(elements)); }

void ReplyWriter::SetHeader(size_t elements) { Header(resp3() ? '~' : '*', static_cast<int64_t>(elements)); }

void ReplyWriter::PushHeader(size_t elements) { Header(resp3() ? '>' : '*', static_cast<int64_t>(elements)); }

void ReplyWriter::MapHeader(size_t pairs) {
  if (resp3()) return Header('%', static_cast<int64_t>(pairs));
  ArrayHeader(2 * pairs);
}

void ReplyWriter::Header(char type, int64_t number) {
  char buffer[kMaxHeaderBytes];
  buffer[0] = type;
  char* const end = std::to_chars(buffer + 1, buffer + sizeof buffer - 2, number).ptr;
  std::memcpy(end, "\r\n", 2);
  out_->append(buffer, static_cast<size_t>(end + 2 - buffer));
}

}  // namespace bitsieve::protocol
