// tls_context.h: certificates, keys and rules that TLS connections are made with. It is made whole from the files, or
// not at all, and never changes: to change certificates, a new context takes its place, while connections keep theirs.
// Sessions are resumed by tickets, so that the server keeps nothing of clients that left; there is no renegotiation.
//
// Thread-safe: streams may be made from it on any thread.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "core/base/result.h"
#include "server/net/tls_settings.h"

namespace bitsieve::server {

class TlsContext {
 public:
  using Made = core::Outcome<std::shared_ptr<const TlsContext>>;

  // The error names the option, its file or value, and the reason.
  static Made ForServer(const TlsSettings& settings);
  // Without a certificate if cert_file is empty. Unless peers are unchecked, the server must show a certificate that
  // ca_cert_file or, if that is empty, an authority of the system has signed.
  static Made ForClient(const TlsSettings& settings);

  // Its own certificate: "CN = cache.example.com, valid until Nov 23 01:26:04 2027 GMT". Empty if it has none.
  std::string Certificate() const;
  bool HasExpired() const;

  // A connection's state, to be freed by SSL_free. Throws std::bad_alloc.
  SSL* NewStream() const;

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };

  explicit TlsContext(const SSL_METHOD* method);
  core::Outcome<void> Load(const TlsSettings& settings, bool is_server);

  std::unique_ptr<SSL_CTX, Free> context_;
};

}  // namespace bitsieve::server
