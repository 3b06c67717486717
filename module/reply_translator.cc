#include "module/reply_translator.h"

#include <cassert>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>

#include "commands/cuckoo_errors.h"
#include "commands/wire_errors.h"

namespace bitsieve::module {
namespace {

// Reads what our own writer wrote, so it assumes that it is well formed.
class Translator {
 public:
  Translator(engine::Context* context, std::string_view bytes, std::string_view out_of_memory)
      : context_(context), at_(bytes.data()), end_(bytes.data() + bytes.size()), out_of_memory_(out_of_memory) {}

  void Run() {
    while (at_ < end_) Element(*at_++);
  }

 private:
  void Element(char type) {
    switch (type) {
      case '#':
        engine::ReplyWithBool(context_, *at_ == 't');
        at_ += 3;
        return;
      case ':':
        engine::ReplyWithLongLong(context_, Number());
        return;
      case '$':
        return Bulk();
      case '*':
        return Array();
      case '%':
        engine::ReplyWithMap(context_, Number());
        return;
      case '~':
        engine::ReplyWithSet(context_, Number());
        return;
      case '_':
        engine::ReplyWithNull(context_);
        at_ += 2;
        return;
      case '+':
        engine::ReplyWithSimpleString(context_, std::string(Line()).c_str());
        return;
      case '-':
        return Error(Line());
      case ',':
        return Double(Line());
      case '=':
        return Verbatim();
      default:
        assert(false && "handlers of filter commands write nothing else");
        at_ = end_;
    }
  }

  void Bulk() {
    const int64_t size = Number();
    if (size < 0) {
      engine::ReplyWithNull(context_);
      return;
    }
    engine::ReplyWithStringBuffer(context_, at_, static_cast<size_t>(size));
    at_ += size + 2;
  }
  void Array() {
    const int64_t size = Number();
    size < 0 ? engine::ReplyWithNullArray(context_) : engine::ReplyWithArray(context_, size);
  }
  void Verbatim() {
    constexpr int64_t kFormatBytes = 4;  // "txt:"
    const int64_t size = Number();
    engine::ReplyWithVerbatimString(context_, at_ + kFormatBytes, static_cast<size_t>(size - kFormatBytes));
    at_ += size + 2;
  }
  void Double(std::string_view text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    engine::ReplyWithDouble(context_, value);
  }
  void Error(std::string_view text) {
    using namespace commands::wire;
    const bool of_memory = text == kOutOfMemory || text == kNoMemoryForItem || text == kNoMemoryForCuckoo;
    if (of_memory && !out_of_memory_.empty()) text = out_of_memory_;
    engine::ReplyWithError(context_, std::string(text).c_str());
  }

  // The number of a line that is read to its end.
  int64_t Number() {
    const bool negative = *at_ == '-';
    at_ += negative ? 1 : 0;
    uint64_t value = 0;  // the lowest number has no positive one
    for (; *at_ != '\r'; ++at_) value = value * 10 + static_cast<uint64_t>(*at_ - '0');
    at_ += 2;
    return static_cast<int64_t>(negative ? 0 - value : value);
  }
  std::string_view Line() {
    const char* const begin = at_;
    const auto* const stop = static_cast<const char*>(std::memchr(at_, '\r', static_cast<size_t>(end_ - at_)));
    at_ = stop + 2;
    return {begin, static_cast<size_t>(stop - begin)};
  }

  engine::Context* const context_;
  const char* at_;
  const char* const end_;
  const std::string_view out_of_memory_;
};

}  // namespace

void TranslateReply(engine::Context* context, std::string_view bytes, std::string_view out_of_memory) {
  Translator(context, bytes, out_of_memory).Run();
}

}  // namespace bitsieve::module
