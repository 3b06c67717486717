#include "tests/support/request_streams.h"

#include <algorithm>
#include <memory>
#include <span>

namespace bitsieve::test {
namespace {

using protocol::RequestLimits;
using protocol::RequestParser;
using Status = RequestParser::Status;
using Views = std::vector<std::string_view>;

std::string BrokenBounds(std::span<const char> input, const RequestLimits& limits, const RequestParser::Result& result,
                         const Views& arguments) {
  if (result.consumed > input.size()) return "more consumed than there is";
  if (arguments.size() > limits.max_arguments) return "too many arguments";
  for (const std::string_view argument : arguments) {
    if (argument.size() > limits.max_argument_bytes) return "an argument is too long";
    if (argument.data() < input.data() || argument.data() + argument.size() > input.data() + result.consumed) {
      return "an argument lies outside of what was consumed";
    }
  }
  return {};
}

std::string BrokenPromise(std::span<const char> input, const RequestLimits& limits, const RequestParser& parser,
                          const RequestParser::Result& result, const Views& arguments) {
  const bool advanced = result.status == Status::kCommand || result.status == Status::kNothing;
  if (advanced != (result.consumed > 0)) return "consumed and status disagree";
  if (arguments.empty() == (result.status == Status::kCommand)) return "arguments and status disagree";
  if (parser.error().empty() == (result.status == Status::kError)) return "error text and status disagree";
  return BrokenBounds(input, limits, result, arguments);
}

}  // namespace

ParsedStream ReadInPieces(std::string_view stream, const RequestLimits& limits, const NextPiece& next_piece) {
  ParsedStream parsed;
  RequestParser parser(limits);
  Views arguments;
  size_t arrived = 0;
  while (arrived < stream.size()) {
    arrived += std::min(next_piece(), stream.size() - arrived);
    Status status = Status::kCommand;
    while (parsed.consumed < arrived && status != Status::kNeedMore) {
      const size_t size = arrived - parsed.consumed;
      const auto block = std::make_unique<char[]>(size);
      const std::span<char> input(block.get(), size);
      std::copy_n(stream.data() + parsed.consumed, size, block.get());
      arguments.clear();
      const RequestParser::Result result = parser.Parse(input, arguments);
      parsed.broken = BrokenPromise(input, limits, parser, result, arguments);
      parsed.error = parser.error();
      if (!parsed.broken.empty() || !parsed.error.empty()) return parsed;
      status = result.status;
      parsed.consumed += result.consumed;
      if (status == Status::kCommand) parsed.commands.emplace_back(arguments.begin(), arguments.end());
    }
  }
  return parsed;
}

ParsedStream ReadAtOnce(std::string_view stream, const RequestLimits& limits) {
  return ReadInPieces(stream, limits, [&] { return stream.size(); });
}

std::string Encode(const Command& command) {
  std::string out = '*' + std::to_string(command.size()) + "\r\n";
  for (const std::string& argument : command) {
    out += '$' + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  return out;
}

}  // namespace bitsieve::test
