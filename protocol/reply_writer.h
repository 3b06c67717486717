// reply_writer.h: replies to bytes, in the protocol version that the client has chosen. Appends to a buffer that is
// reused, so that the steady state allocates nothing. It is independent of sockets and commands. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace bitsieve::protocol {

enum class ProtocolVersion : uint8_t { kResp2 = 2, kResp3 = 3 };

class ReplyWriter {
 public:
  explicit ReplyWriter(std::string& out) : out_(&out) {}

  ProtocolVersion version() const { return version_; }
  void set_version(ProtocolVersion version) { version_ = version; }
  bool resp3() const { return version_ == ProtocolVersion::kResp3; }

  void SimpleString(std::string_view text);  // no CR or LF in it
  void Ok() { SimpleString("OK"); }
  // The whole text, code first ("ERR not found"). CR, LF and NUL in it become blanks: it may quote a client's bytes.
  void Error(std::string_view text);
  void Integer(int64_t value);
  void Boolean(bool value);  // RESP2: integer 1 or 0
  // A Boolean of each value, which is 1 or 0.
  void Booleans(std::span<const uint8_t> values);
  void Double(double value);  // RESP2: bulk string; the fewest digits that read back the same
  void BulkString(std::string_view bytes);
  // The part of a bulk string before its bytes. They follow, then kLineEnd.
  void BulkHeader(size_t bytes);
  static constexpr std::string_view kLineEnd = "\r\n";
  void VerbatimText(std::string_view text);  // RESP2: bulk string
  void Null();                               // RESP2: null bulk string
  void NullArray();                          // RESP3: null
  void ArrayHeader(size_t elements);
  void SetHeader(size_t elements);   // RESP2: array
  void MapHeader(size_t pairs);      // RESP2: array of twice as many elements
  void PushHeader(size_t elements);  // of what comes unasked; RESP2: array

  // A reply that was written elsewhere, by a writer of the same version.
  void Append(std::string&& reply) {
    if (!Fits(reply.size())) return;
    if (out_->empty()) {
      *out_ = std::move(reply);  // it may be large
    } else {
      out_->append(reply);
    }
  }

  // Limits the buffer to `bytes`: text that would make it longer is left out, and from then on exceeded() is true.
  // Replies are incomplete then, and the connection must be closed.
  void set_limit(size_t bytes) { limit_ = bytes; }
  bool exceeded() const { return exceeded_ || out_->size() > limit_; }
  size_t room() const { return limit_ > out_->size() ? limit_ - out_->size() : 0; }
  // Whether a reply of `bytes` stays within the limit; if not, the limit counts as exceeded. Call it before building a
  // large reply.
  bool Fits(size_t bytes) {
    if (bytes > room()) exceeded_ = true;
    return bytes <= room();
  }

  size_t size() const { return out_->size(); }
  // Takes back what was written after `size`, for a reply whose shape turns out to be another.
  void Truncate(size_t size) { out_->resize(size); }
  std::string& buffer() { return *out_; }

 private:
  void Header(char type, int64_t number);

  std::string* out_;
  size_t limit_ = SIZE_MAX;
  bool exceeded_ = false;
  ProtocolVersion version_ = ProtocolVersion::kResp2;
};

}  // namespace bitsieve::protocol
