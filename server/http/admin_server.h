// admin_server.h: the admin port: accepts connections, reads one request of each, has it answered, writes the response
// and closes. Sockets are served by one thread that never waits for any of them; answers are made by two more, so that
// a page that takes long does not hold up the others. A body that is made while it is sent is read from its source in
// chunks, each one once the last one was sent: so it takes the memory of one chunk, however slowly a client reads. No
// client is waited for longer than kPatience, which begins again with each chunk, and of more than kMaxExchanges
// connections the oldest is closed: clients that send or read slowly keep no other out.
//
// Not thread-safe: built, started and stopped by one thread.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "server/http/http_engine.h"

namespace bitsieve::server {

class AdminServer {
 public:
  static constexpr size_t kMaxExchanges = 128;
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr size_t kChunkBytes = 64 << 10;

  // `engine` outlives it.
  explicit AdminServer(const HttpEngine& engine) : engine_(engine) {}
  // Stops it if it still runs.
  ~AdminServer();

  // The error names the address.
  core::Outcome<void> Listen(const std::string& address, uint16_t port);
  // Calls `work` at this interval, on the thread that serves the sockets, from Start() on.
  void Repeat(std::chrono::seconds interval, std::function<void()> work);
  void Start();
  // Closes all connections and joins the threads.
  void Stop();

 private:
  class Exchange;
  using Exchanges = std::list<std::weak_ptr<Exchange>>;

  struct Repeated {
    Repeated(asio::io_context& context, std::chrono::seconds its_interval, std::function<void()> its_work)
        : timer(context), interval(its_interval), work(std::move(its_work)) {}
    asio::steady_timer timer;
    const std::chrono::seconds interval;
    const std::function<void()> work;
  };

  void Run();
  void Arm(Repeated& repeated);
  void WorkAndArm(Repeated& repeated);
  void Accept();
  void AcceptOne();
  void Admit(asio::ip::tcp::socket socket);

  const HttpEngine& engine_;
  asio::io_context context_{1};
  asio::ip::tcp::acceptor acceptor_{context_};
  asio::thread_pool workers_{2};
  Exchanges exchanges_;  // oldest first
  std::vector<std::unique_ptr<Repeated>> repeated_;
  std::thread thread_;
};

}  // namespace bitsieve::server
