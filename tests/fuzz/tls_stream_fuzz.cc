// A TLS stream delivers exact bytes or none, whatever comes over the wire: what the server receives is a beginning of
// what the client sent, however the bytes between them were changed, cut or mixed with others; and once it has failed,
// it stays so.
//
// Input: one byte that decides whether the client begins with a true handshake; then, repeatedly, one byte that decides
// what happens to the client's next bytes, and the bytes that this needs.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/socket.h"
#include "server/net/tls_context.h"
#include "server/net/tls_stream.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_certificate.h"

namespace {

using bitsieve::server::Socket;
using bitsieve::server::TlsContext;
using bitsieve::server::TlsSettings;
using bitsieve::server::TlsStream;
using Context = std::shared_ptr<const TlsContext>;

constexpr size_t kMaxSteps = 64;
constexpr std::string_view kMessage = "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n";

void Expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

struct Contexts {
  Contexts() {
    const bitsieve::TemporaryDirectory directory;
    const auto made = bitsieve::test::MakeCertificate();
    TlsSettings settings;
    settings.cert_file = directory.path() + "/cert";
    settings.key_file = directory.path() + "/key";
    std::ofstream(settings.cert_file) << made.certificate;
    std::ofstream(settings.key_file) << made.key;
    settings.ca_cert_file = settings.cert_file;
    settings.peers = TlsSettings::Peers::kMayShow;
    server = *TlsContext::ForServer(settings);
    settings.peers = TlsSettings::Peers::kUnchecked;
    client = *TlsContext::ForClient(settings);
  }
  Context server, client;
};

// The client writes to one pair of sockets and the server reads from another; the test moves the bytes between them.
class Wire {
 public:
  Wire(const Contexts& contexts) {
    MakePair(client_, client_end_);
    MakePair(server_, server_end_);
    client_.Secure(TlsStream::OfClient(*contexts.client, client_.descriptor(), {"localhost", false}));
    server_.Secure(TlsStream::OfServer(*contexts.server, server_.descriptor()));
  }

  void Handshake() {
    for (int i = 0; i < 4; ++i) {
      client_.tls()->SetReadable(false);
      client_.tls()->Handshake();
      ToServer(FromClient());
    }
  }
  void SendMessage() { sent_ += kMessage.substr(0, client_.Send(kMessage).bytes); }
  std::string FromClient() { return Take(client_end_); }
  // Sends `bytes` to the server, which then receives, and passes its answer on to the client.
  void ToServer(std::string_view bytes) {
    server_end_.Send(bytes);
    Receive();
    client_end_.Send(Take(server_end_));
  }

 private:
  static void MakePair(Socket& near, Socket& far) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) std::abort();
    near = Socket(ends[0]);
    far = Socket(ends[1]);
  }
  static std::string Take(const Socket& socket) {
    std::string all(64 * 1024, '\0');
    all.resize(socket.Receive(all).bytes);
    return all;
  }
  void Receive() {
    server_.tls()->SetReadable(false);
    std::array<char, 300> room;
    Socket::Transfer some{.more = true};
    while (some.more) {
      some = server_.Receive(room);
      Expect(some.bytes <= room.size(), "no more is received than there is room for");
      Expect(error_ == 0 || (some.error == error_ && some.bytes == 0), "a stream that has failed stays so");
      received_.append(room.data(), some.bytes);
      error_ = some.blocked() ? 0 : some.error;
    }
    Expect(sent_.starts_with(received_), "what is received was sent");
    if (!server_.tls()->is_handshaking()) server_.Send("+OK\r\n");
  }

  Socket client_{-1}, client_end_{-1}, server_{-1}, server_end_{-1};
  std::string sent_, received_;
  int error_ = 0;
};

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }
  uint8_t Byte() { return Bytes(1).empty() ? 0 : static_cast<uint8_t>(last_[0]); }
  std::string_view Bytes(size_t count) {
    last_ = rest_.substr(0, count);
    rest_.remove_prefix(last_.size());
    return last_;
  }

 private:
  std::string_view rest_, last_;
};

// Returns `bytes` as they arrive: unchanged, or altered as the input decides.
std::string Change(std::string bytes, Input& input) {
  const uint8_t what = input.Byte();
  const size_t place = bytes.empty() ? 0 : input.Byte() * bytes.size() / 256;
  switch (what % 6) {
    case 0:
      return bytes;
    case 1:  // other bytes instead
      return std::string(input.Bytes(input.Byte() * 8));
    case 2: {  // some bytes changed
      const std::string_view masks = input.Bytes(std::min<size_t>(what / 6, bytes.size() - place));
      for (size_t i = 0; i < masks.size(); ++i) bytes[place + i] ^= masks[i];
      return bytes;
    }
    case 3:  // cut
      return bytes.substr(0, place);
    case 4:  // others in between
      return bytes.insert(place, input.Bytes(input.Byte()));
    default:  // twice
      return bytes + bytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Contexts kContexts;
  Input input(data, size);
  Wire wire(kContexts);
  if (input.Byte() % 2 == 1) wire.Handshake();
  for (size_t i = 0; i < kMaxSteps && !input.empty(); ++i) {
    wire.SendMessage();
    wire.ToServer(Change(wire.FromClient(), input));
  }
  return 0;
}
