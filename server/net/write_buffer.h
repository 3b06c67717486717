// write_buffer.h: replies that the socket did not take yet. Empty, and without memory, for every client that reads what
// it asked for. Confined to its loop.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bitsieve::server {

class WriteBuffer {
 public:
  bool empty() const { return sent_ == bytes_.size(); }
  size_t size() const { return bytes_.size() - sent_; }
  std::string_view unsent() const { return std::string_view(bytes_).substr(sent_); }

  void Append(std::string_view bytes) {
    // What was sent already leaves when it is the larger half, so that each byte moves once at most.
    if (sent_ > bytes_.size() / 2) {
      bytes_.erase(0, sent_);
      sent_ = 0;
    }
    bytes_.append(bytes);
  }
  void Consume(size_t sent) {
    sent_ += sent;
    if (!empty()) return;
    std::string().swap(bytes_);
    sent_ = 0;
  }

 private:
  std::string bytes_;
  size_t sent_ = 0;
};

}  // namespace bitsieve::server
