// tls_settings.h: what TLS is to be like, as options say it. Thread-compatible: plain values.
#pragma once

#include <cstdint>
#include <string>

namespace bitsieve::server {

struct TlsSettings {
  // Whether peers show a certificate that an authority of ca_cert_file has signed.
  enum class Peers : uint8_t { kUnchecked, kMayShow, kMustShow };

  std::string cert_file;  // PEM: the certificate, then those between it and the authority
  std::string key_file;
  std::string key_file_pass;
  std::string ca_cert_file;
  Peers peers = Peers::kUnchecked;
  std::string protocols;     // "TLSv1.2 TLSv1.3"; empty: both
  std::string ciphers;       // of TLS 1.2, as OpenSSL writes them; empty: OpenSSL's choice
  std::string ciphersuites;  // of TLS 1.3
};

}  // namespace bitsieve::server
