// request_streams.h: reads whole streams of requests with a RequestParser, at once or in pieces, and returns what came
// out. For tests and fuzzers: each call sees its bytes in a block of memory of their exact size, so that a sanitizer
// finds every byte read too far, and the parser's promises are checked at each step.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_parser.h"
#include "tests/support/default_settings.h"

namespace bitsieve::test {

using Command = std::vector<std::string>;

struct ParsedStream {
  std::vector<Command> commands;
  size_t consumed = 0;  // bytes of all commands and nothings
  std::string error;    // of the protocol; empty if there was none
  std::string broken;   // a promise that the parser broke; empty if there was none

  bool operator==(const ParsedStream&) const = default;
};

// The size of the next piece, at least 1.
using NextPiece = std::function<size_t()>;

ParsedStream ReadInPieces(std::string_view stream, const protocol::RequestLimits& limits, const NextPiece& next_piece);
ParsedStream ReadAtOnce(std::string_view stream,
                        const protocol::RequestLimits& limits = Default<protocol::RequestLimits>());

// `command` as an array of bulk strings.
std::string Encode(const Command& command);

}  // namespace bitsieve::test
