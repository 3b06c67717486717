// tls_fixture.h: certificates in a directory of their own, and both ends of a connection through which a test moves
// bytes by hand. Confined to one thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "server/net/socket.h"
#include "server/net/tls_context.h"
#include "server/net/tls_stream.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_certificate.h"

namespace bitsieve::server::testing {

class TlsFiles {
 public:
  TlsFiles() { Write(test::MakeCertificate()); }

  void Write(const test::TestCertificate& made) const {
    std::ofstream(Path("cert")) << made.certificate;
    std::ofstream(Path("key")) << made.key;
  }
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  TlsSettings Settings() const {
    return {.cert_file = Path("cert"),
            .key_file = Path("key"),
            .key_file_pass = "",
            .ca_cert_file = Path("cert"),
            .protocols = "",
            .ciphers = "",
            .ciphersuites = ""};
  }
  std::shared_ptr<const TlsContext> Server() const { return OrFail(TlsContext::ForServer(Settings())); }
  // Has the server's certificate for its authority.
  std::shared_ptr<const TlsContext> Client(const std::string& protocols = "") const {
    TlsSettings settings = Settings();
    settings.peers = TlsSettings::Peers::kMustShow;
    settings.cert_file = "";
    settings.protocols = protocols;
    return OrFail(TlsContext::ForClient(settings));
  }

 private:
  static std::shared_ptr<const TlsContext> OrFail(TlsContext::Made made) {
    if (!made) ADD_FAILURE() << made.error();
    return made ? *made : nullptr;
  }

  TemporaryDirectory directory_;
};

// The ends of one connection, with TLS.
struct TlsPair {
  TlsPair(const TlsContext& server_context, const TlsContext& client_context) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) ADD_FAILURE() << "no socket pair";
    server = Socket(ends[0]);
    client = Socket(ends[1]);
    server.Secure(TlsStream::OfServer(server_context, ends[0]));
    client.Secure(TlsStream::OfClient(client_context, ends[1], {"localhost", true}));
  }

  // The client's outcome; the server's is in its failure().
  Socket::Transfer Handshake() {
    Socket::Transfer done{.error = EAGAIN};
    for (int i = 0; i < 10 && done.blocked(); ++i) {
      client.tls()->SetReadable(false);
      done = client.tls()->Handshake();
      server.tls()->SetReadable(false);
      std::array<char, 16> room;
      server.Receive(room);
    }
    return done;
  }

  Socket server{-1};
  Socket client{-1};
};

}  // namespace bitsieve::server::testing
