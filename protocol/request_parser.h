// request_parser.h: bytes to commands. Reads RESP arrays of bulk strings and plain lines (what a person types into
// telnet, with quotes and escapes as Redis' inline commands have them), binary safe, resumable at any byte.
// It is independent of sockets and commands: bytes in, arguments out. Thread-compatible; one parser serves one
// connection.
//
// The answer depends only on the bytes, never on how they were split: each error is found at the first byte that proves
// it. Lengths that a client declares are compared with the limits and nothing else; no memory follows from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitsieve::protocol {

// Bounds on what a client may send; each is checked before anything is kept. Nothing may be sent until they are set.
struct RequestLimits {
  size_t max_line_bytes = 0;      // a plain line without its end (a header line is never over 22 bytes)
  size_t max_arguments = 0;       // of one command
  size_t max_argument_bytes = 0;  // one argument
  size_t max_request_bytes = 0;   // one command, all its bytes
};

class RequestParser {
 public:
  enum class Status {
    kCommand,   // one command was read: its arguments were appended
    kNothing,   // bytes were consumed that are no command (an empty line, an empty array): call again
    kNeedMore,  // the command is not complete: call again with the same bytes and more after them
    kError,     // the stream is broken for good: reply with error() and close
  };
  struct Result {
    Status status;
    size_t consumed;  // bytes of the input that are done with; 0 for kNeedMore and kError
  };

  // `limits` must outlive the parser; they may change between commands.
  explicit RequestParser(const RequestLimits& limits) : limits_(&limits) {}

  // Between commands, or with limits that what was read so far is within.
  void set_limits(const RequestLimits& limits) { limits_ = &limits; }

  // Reads the command at the start of `input`. After kNeedMore the next call's input must start with the same bytes
  // (they may have moved in memory); work already done on them is not repeated, so many small reads cost no more than
  // one. Arguments are appended to `arguments` as views into `input` (plain lines are unescaped in place, hence not
  // const); they live as long as those bytes stay where they are. Nothing is appended unless kCommand is returned.
  Result Parse(std::span<char> input, std::vector<std::string_view>& arguments);

  // The text of a protocol error, ready for an error reply: "ERR Protocol error: ...".
  const std::string& error() const { return error_; }

  // Returns the bytes of memory that the parser keeps for an incomplete command.
  size_t memory_bytes() const;

 private:
  // The parts found so far of an incomplete command, as offsets, since the bytes may move.
  struct Extent {
    size_t offset;
    size_t length;
  };

  Result ParseLine(std::span<char> input, std::vector<std::string_view>& arguments);
  Status CheckLine(std::span<const std::string_view> arguments);
  Result ParseArray(std::string_view input, std::vector<std::string_view>& arguments);
  Status ReadCount(std::string_view input, size_t& position, uint64_t& count);
  Status ReadLongCount(std::string_view input, size_t& position, uint64_t& count);
  Status ReadBulk(std::string_view input, std::vector<std::string_view>& arguments);
  void AddExtent(const Extent& extent);
  void Suspend(std::string_view input, size_t first, std::vector<std::string_view>& arguments);
  void Resume(std::string_view input, size_t first, std::vector<std::string_view>& arguments);
  Status Fail(std::string_view what);
  Status TooLarge(std::string_view what, size_t limit, std::string_view unit);

  const RequestLimits* limits_;
  std::string error_;
  // In blocks, so that no call copies what the calls before it found: a command may have 10^6 arguments.
  std::vector<std::vector<Extent>> extents_;
  size_t position_ = 0;   // where to continue in the input
  uint64_t missing_ = 0;  // arguments still to come; 0 between commands
};

}  // namespace bitsieve::protocol
