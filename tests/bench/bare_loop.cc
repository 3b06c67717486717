// bare_loop PORT: an Asio loop of one thread that receives, counts the commands, sends as many short replies, and does
// nothing else: what a server on Asio cannot fall below. PING is answered +PONG, CONFIG by an error, as redis-benchmark
// takes it, and everything else :0.

#include <array>
#include <asio.hpp>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace {

using asio::ip::tcp;

std::array<char, 64 * 1024> received;

std::string_view ReplyTo(std::string_view command) {
  const size_t name = command.find('\n', command.find('$'));
  if (name == std::string_view::npos || name + 1 >= command.size()) return ":0\r\n";
  const char first = command[name + 1];
  return first == 'P' ? "+PONG\r\n" : first == 'C' ? "-ERR\r\n" : ":0\r\n";
}

class Client : public std::enable_shared_from_this<Client> {
 public:
  explicit Client(tcp::socket socket) : socket_(std::move(socket)) {}

  void Wait() {
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const asio::error_code& error) {
      if (!error && self->Answer()) self->Wait();
    });
  }

 private:
  // Commands of redis-benchmark have an asterisk at their beginning, and nowhere else.
  bool Answer() {
    asio::error_code error;
    const size_t size = socket_.read_some(asio::buffer(received), error);
    if (error) return error == asio::error::would_block;
    static std::string replies;
    replies.clear();
    const std::string_view bytes(received.data(), size);
    const std::string_view reply = ReplyTo(bytes);
    for (size_t at = bytes.find('*'); at != std::string_view::npos; at = bytes.find('*', at + 1)) replies += reply;
    asio::write(socket_, asio::buffer(replies), error);
    return !error;
  }

  tcp::socket socket_;
};

void Accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](const asio::error_code& error, tcp::socket socket) {
    if (!error) {
      socket.set_option(tcp::no_delay(true));
      socket.non_blocking(true);
      std::make_shared<Client>(std::move(socket))->Wait();
    }
    Accept(acceptor);
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: bare_loop PORT\n";
    return 2;
  }
  asio::io_context context(1);
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), static_cast<uint16_t>(std::atoi(arguments[1]))});
  Accept(acceptor);
  context.run();
}
