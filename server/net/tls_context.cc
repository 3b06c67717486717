#include "server/net/tls_context.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>

#include "core/base/descriptor.h"
#include "core/base/quote.h"

namespace bitsieve::server {
namespace {

// A file of all authorities that browsers know has 250 kB.
constexpr size_t kMaxFileBytes = 4 * 1024 * 1024;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;
using Certificate = std::unique_ptr<X509, FreeCertificate>;
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

// OpenSSL's reason for the last failure.
std::string Reason() {
  const unsigned long error = ERR_peek_last_error();
  const char* const text = ERR_reason_error_string(error);
  ERR_clear_error();
  return text == nullptr ? "error " + std::to_string(error) + " of OpenSSL" : text;
}

tl::unexpected<std::string> Refused(std::string_view option, std::string_view value, const std::string& reason) {
  return tl::unexpected(std::string(option) + " " + std::string(value) + ": " + reason);
}

// A pipe, or a file without end, is not waited for.
core::Outcome<std::string> ReadFile(std::string_view option, const std::string& path) {
  const auto failed = [&] { return Refused(option, path, std::system_category().message(errno)); };
  const core::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return failed();
  if (!S_ISREG(status.st_mode)) return Refused(option, path, "is not a file");
  std::string bytes(kMaxFileBytes + 1, '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed();
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > kMaxFileBytes) return Refused(option, path, "is larger than 4 MB");
  bytes.resize(size);
  return bytes;
}

Bio Reader(const std::string& bytes) {
  Bio bio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
  if (bio == nullptr) throw std::bad_alloc();
  return bio;
}

core::Outcome<void> UseCertificate(SSL_CTX* context, const std::string& path) {
  constexpr std::string_view kOption = "tls-cert-file";
  const auto bytes = ReadFile(kOption, path);
  if (!bytes) return tl::unexpected(bytes.error());
  const Bio bio = Reader(*bytes);
  const Certificate own(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
  if (own == nullptr) return Refused(kOption, path, "does not contain a certificate in PEM format");
  if (SSL_CTX_use_certificate(context, own.get()) != 1) return Refused(kOption, path, Reason());
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) == 1) continue;
    X509_free(next);
    return Refused(kOption, path, Reason());
  }
  ERR_clear_error();  // the end of the file
  return {};
}

// Without it OpenSSL would ask at the terminal.
int CopyPassword(char* room, int size, int, void* password) {
  const auto& text = *static_cast<const std::string*>(password);
  if (text.empty() || text.size() > static_cast<size_t>(size)) return -1;
  std::memcpy(room, text.data(), text.size());
  return static_cast<int>(text.size());
}

core::Outcome<void> UseKey(SSL_CTX* context, const TlsSettings& settings) {
  constexpr std::string_view kOption = "tls-key-file";
  const auto bytes = ReadFile(kOption, settings.key_file);
  if (!bytes) return tl::unexpected(bytes.error());
  const Bio bio = Reader(*bytes);
  std::string password = settings.key_file_pass;
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, CopyPassword, &password));
  if (key == nullptr && bytes->find("ENCRYPTED") != std::string::npos) {
    ERR_clear_error();
    return Refused(
        kOption, settings.key_file,
        "is encrypted, and tls-key-file-pass is " + std::string(password.empty() ? "empty" : "not its password"));
  }
  if (key == nullptr) return Refused(kOption, settings.key_file, "does not contain a private key in PEM format");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return Refused(kOption, settings.key_file,
                   "does not belong to the certificate of tls-cert-file " + settings.cert_file + ": " + Reason());
  }
  return {};
}

core::Outcome<void> UseAuthorities(SSL_CTX* context, const std::string& path) {
  constexpr std::string_view kOption = "tls-ca-cert-file";
  const auto bytes = ReadFile(kOption, path);
  if (!bytes) return tl::unexpected(bytes.error());
  const Bio bio = Reader(*bytes);
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  size_t count = 0;
  while (const Certificate next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    // Clients learn by the names which of their certificates to show.
    if (X509_STORE_add_cert(store, next.get()) != 1 || SSL_CTX_add_client_CA(context, next.get()) != 1) {
      return Refused(kOption, path, Reason());
    }
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return Refused(kOption, path, "does not contain a certificate in PEM format");
  return {};
}

core::Outcome<void> UseRules(SSL_CTX* context, const TlsSettings& settings) {
  const std::string& protocols = settings.protocols;
  const bool all = protocols.empty();
  const bool old = all || protocols.find("TLSv1.2") != std::string::npos;
  const bool current = all || protocols.find("TLSv1.3") != std::string::npos;
  SSL_CTX_set_min_proto_version(context, old ? TLS1_2_VERSION : TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context, current ? TLS1_3_VERSION : TLS1_2_VERSION);
  if (!settings.ciphers.empty() && SSL_CTX_set_cipher_list(context, settings.ciphers.c_str()) != 1) {
    return Refused("tls-ciphers", core::Quoted(settings.ciphers), Reason());
  }
  if (!settings.ciphersuites.empty() && SSL_CTX_set_ciphersuites(context, settings.ciphersuites.c_str()) != 1) {
    return Refused("tls-ciphersuites", core::Quoted(settings.ciphersuites), Reason());
  }
  return {};
}

int VerifyMode(TlsSettings::Peers peers) {
  switch (peers) {
    case TlsSettings::Peers::kUnchecked:
      return SSL_VERIFY_NONE;
    case TlsSettings::Peers::kMayShow:
      return SSL_VERIFY_PEER;
    default:
      return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  }
}

template <auto fetch, auto free>
void Load(const char* algorithm) {
  auto* const loaded = fetch(nullptr, algorithm, nullptr);
  if (loaded == nullptr) throw std::bad_alloc();
  free(loaded);
}

// Loads OpenSSL's algorithms of every kind. It would load those of a kind when a handshake needs the first of them, and
// if memory is refused meanwhile, it never tries again: no later handshake would succeed.
void LoadAlgorithms() {
  Load<EVP_MD_fetch, EVP_MD_free>("SHA256");
  Load<EVP_CIPHER_fetch, EVP_CIPHER_free>("AES-128-GCM");
  Load<EVP_MAC_fetch, EVP_MAC_free>("HMAC");
  Load<EVP_KDF_fetch, EVP_KDF_free>("TLS13-KDF");
  Load<EVP_RAND_fetch, EVP_RAND_free>("CTR-DRBG");
  Load<EVP_KEYMGMT_fetch, EVP_KEYMGMT_free>("RSA");
  Load<EVP_KEYEXCH_fetch, EVP_KEYEXCH_free>("X25519");
  Load<EVP_SIGNATURE_fetch, EVP_SIGNATURE_free>("RSA");
  Load<EVP_ASYM_CIPHER_fetch, EVP_ASYM_CIPHER_free>("RSA");
  Load<EVP_KEM_fetch, EVP_KEM_free>("RSA");
}

}  // namespace

TlsContext::TlsContext(const SSL_METHOD* method) {
  LoadAlgorithms();
  context_.reset(SSL_CTX_new(method));
  if (context_ == nullptr) throw std::bad_alloc();
  SSL_CTX* const context = context_.get();
  // A client that leaves without a word is as one that says goodbye: commands carry their lengths, so that a cut one is
  // seen as such.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);  // one call receives a record and its head
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  constexpr unsigned char kName[] = "bitsieve";  // sessions are of this server: needed to resume with certificates
  SSL_CTX_set_session_id_context(context, kName, sizeof kName - 1);
}

TlsContext::Made TlsContext::ForServer(const TlsSettings& settings) {
  const std::shared_ptr<TlsContext> made(new TlsContext(TLS_server_method()));
  if (auto loaded = made->Load(settings, true); !loaded) return tl::unexpected(loaded.error());
  return made;
}

TlsContext::Made TlsContext::ForClient(const TlsSettings& settings) {
  const std::shared_ptr<TlsContext> made(new TlsContext(TLS_client_method()));
  if (auto loaded = made->Load(settings, false); !loaded) return tl::unexpected(loaded.error());
  return made;
}

core::Outcome<void> TlsContext::Load(const TlsSettings& settings, bool is_server) {
  ERR_clear_error();
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_verify(context, VerifyMode(settings.peers), nullptr);
  core::Outcome<void> done = UseRules(context, settings);
  if (done && (is_server || !settings.cert_file.empty())) {
    done = UseCertificate(context, settings.cert_file);
    if (done) done = UseKey(context, settings);
  }
  if (!done) return done;
  if (!settings.ca_cert_file.empty()) return UseAuthorities(context, settings.ca_cert_file);
  if (!is_server) SSL_CTX_set_default_verify_paths(context);
  return {};
}

std::string TlsContext::Certificate() const {
  const X509* const own = SSL_CTX_get0_certificate(context_.get());
  if (own == nullptr) return "";
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr) throw std::bad_alloc();
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(own), 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
  BIO_puts(bio.get(), ", valid until ");
  ASN1_TIME_print(bio.get(), X509_get0_notAfter(own));
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(std::max(0L, size)));
}

bool TlsContext::HasExpired() const {
  const X509* const own = SSL_CTX_get0_certificate(context_.get());
  return own != nullptr && X509_cmp_current_time(X509_get0_notAfter(own)) < 0;
}

SSL* TlsContext::NewStream() const {
  SSL* const stream = SSL_new(context_.get());
  if (stream == nullptr) throw std::bad_alloc();
  return stream;
}

}  // namespace bitsieve::server
