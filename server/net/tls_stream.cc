#include "server/net/tls_stream.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>
#include <new>

namespace bitsieve::server {
namespace {

// Bytes that a call may receive in addition to those of its room: handshakes, and the heads and ends of records.
constexpr size_t kOverhead = 64 * 1024;

bool IsAddress(const std::string& name) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 || inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

bool IsPlainText(int reason) {
  return reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST || reason == SSL_R_WRONG_VERSION_NUMBER;
}

}  // namespace

int TlsStream::ReadWire(BIO* bio, char* room, int size) {
  Wire& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const size_t wanted = std::min(static_cast<size_t>(size), wire.allowance);
  Socket::Transfer received{.error = EAGAIN};
  if (!wire.is_empty && wanted != 0) {
    received = Socket::Receive(wire.descriptor, {room, wanted});
    wire.has_ended = wire.has_ended && !received.blocked();
    wire.is_empty = received.bytes < wanted && !wire.has_ended;
  }
  wire.allowance -= received.bytes;
  if (received.bytes != 0) return static_cast<int>(received.bytes);
  if (received.error == 0) {
    BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return 0;
  }
  SetError(bio, received, BIO_FLAGS_READ);
  return -1;
}

void TlsStream::SetError(BIO* bio, const Socket::Transfer& transfer, int direction) {
  if (transfer.blocked()) {
    BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY);
  } else {
    static_cast<Wire*>(BIO_get_data(bio))->error = transfer.error;
  }
}

int TlsStream::WriteWire(BIO* bio, const char* bytes, int size) {
  Wire& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const Socket::Transfer sent = Socket::Send(wire.descriptor, {bytes, static_cast<size_t>(size)});
  if (sent.error == 0) return static_cast<int>(sent.bytes);
  SetError(bio, sent, BIO_FLAGS_WRITE);
  return -1;
}

long TlsStream::ControlWire(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* TlsStream::WireMethod() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bitsieve");
    if (made == nullptr) throw std::bad_alloc();
    BIO_meth_set_read(made, ReadWire);
    BIO_meth_set_write(made, WriteWire);
    BIO_meth_set_ctrl(made, ControlWire);
    return made;
  }();
  return kMethod;
}

TlsStream::TlsStream(SSL* ssl, int descriptor) : wire_{.descriptor = descriptor}, ssl_(ssl) {
  BIO* const bio = BIO_new(WireMethod());
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, &wire_);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
}

std::unique_ptr<TlsStream> TlsStream::OfServer(const TlsContext& context, int descriptor) {
  std::unique_ptr<TlsStream> made(new TlsStream(context.NewStream(), descriptor));
  SSL_set_accept_state(made->ssl_.get());
  return made;
}

std::unique_ptr<TlsStream> TlsStream::OfClient(const TlsContext& context, int descriptor, const ClientName& name) {
  std::unique_ptr<TlsStream> made(new TlsStream(context.NewStream(), descriptor));
  SSL* const ssl = made->ssl_.get();
  SSL_set_connect_state(ssl);
  const char* const text = name.server_name.c_str();
  if (IsAddress(name.server_name)) {
    if (name.check_name) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), text);
  } else {
    SSL_set_tlsext_host_name(ssl, text);
    if (name.check_name) SSL_set1_host(ssl, text);
  }
  return made;
}

Socket::Transfer TlsStream::Handshake() {
  wire_.allowance = kOverhead;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  is_handshaking_ = result != 1;
  if (result == 1) return {};
  RecordResult(result);
  return {.bytes = 0, .error = state_ == State::kOpen ? EAGAIN : state_ == State::kEnded ? ECONNRESET : error_};
}

Socket::Transfer TlsStream::Receive(std::span<char> room) {
  wire_.allowance = room.size() + kOverhead;
  size_t received = 0;
  while (received < room.size() && state_ == State::kOpen) {
    size_t bytes = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), room.data() + received, room.size() - received, &bytes);
    is_handshaking_ = is_handshaking_ && SSL_is_init_finished(ssl_.get()) == 0;
    received += bytes;
    if (result != 1) RecordResult(result);
    if (result != 1 || (wire_.is_empty && SSL_has_pending(ssl_.get()) == 0)) break;
  }
  const bool is_open = state_ == State::kOpen;
  const bool more = received == room.size() || (received != 0 && !is_open) || wire_.allowance == 0;
  if (received != 0) return {.bytes = received, .error = 0, .more = more};
  return {.bytes = 0, .error = is_open ? EAGAIN : error_, .more = is_open && more};
}

Socket::Transfer TlsStream::Send(std::string_view bytes) {
  size_t sent = 0;
  while (sent < bytes.size() && state_ != State::kFailed) {
    size_t taken = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_.get(), bytes.data() + sent, bytes.size() - sent, &taken);
    sent += taken;
    if (result == 1) continue;
    RecordResult(result);
    break;
  }
  if (sent != 0) return {.bytes = sent};
  return {.bytes = 0, .error = state_ == State::kFailed ? error_ : EAGAIN};
}

void TlsStream::EndSending() {
  if (is_handshaking_ || state_ == State::kFailed) return;
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

void TlsStream::RecordResult(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return;
    // Also what OpenSSL makes of any failure to send once the other side's end has been seen.
    case SSL_ERROR_ZERO_RETURN:
      if (wire_.error == 0) {
        state_ = State::kEnded;
        return;
      }
      [[fallthrough]];
    case SSL_ERROR_SYSCALL:
      state_ = State::kFailed;
      error_ = wire_.error != 0 ? wire_.error : ECONNRESET;
      return;
    default:
      RecordFailure();
  }
}

void TlsStream::RecordFailure() {
  state_ = State::kFailed;
  error_ = EPROTO;
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(error);
  failure_ = reason == nullptr ? "error " + std::to_string(error) + " of OpenSSL" : reason;
  if (IsPlainText(ERR_GET_REASON(error))) failure_ = "what it sent is not TLS (" + failure_ + ")";
  if (ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    failure_ += std::string(": ") + X509_verify_cert_error_string(SSL_get_verify_result(ssl_.get()));
  }
  ERR_clear_error();
}

}  // namespace bitsieve::server
