// client.h: a blocking client for tests over loopback. Every wait is bounded by a generous time, after which the test
// fails rather than hangs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bitsieve::server::testing {

class Client {
 public:
  explicit Client(uint16_t port, const std::string& address = "127.0.0.1");
  ~Client() { Close(); }
  Client(Client&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return socket_ >= 0; }
  // Sends all bytes; false if the server closed the connection first.
  bool Send(std::string_view bytes);
  // Sends as many bytes as the system takes at once, possibly none, and returns their number.
  size_t SendSome(std::string_view bytes);
  // Receives exactly `size` bytes, fewer if the server closed.
  std::string Receive(size_t size);
  // Waits for bytes and returns those that are there, at most 4096; none if the server closed.
  std::string ReceiveSome();
  // Receives until the server closes.
  std::string ReceiveAll();
  // Sends a command of one line and receives a reply of `reply_size` bytes.
  std::string Ask(std::string_view line, size_t reply_size);
  void ShutdownSend();
  void Close();

 private:
  int socket_ = -1;
};

// Returns a command as clients write it: an array of bulk strings.
std::string Command(std::initializer_list<std::string_view> arguments);
std::string Repeat(std::string_view text, size_t times);

}  // namespace bitsieve::server::testing
