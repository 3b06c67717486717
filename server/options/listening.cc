#include "server/options/listening.h"

#include <cstdint>
#include <string>

#include "core/base/canonical_path.h"
#include "server/options/settings.h"

namespace bitsieve::server {

core::Status Listen(NetServer& net, const config::Options& options) {
  core::Outcome<void> done;
  if (options.port != config::kNoPort) done = net.Listen(options.bind, static_cast<uint16_t>(options.port));
  if (done && options.tls_port != 0) done = net.ListenByTls(options.bind, options.tls_port, TlsSettingsOf(options));
  if (done && !options.unixsocket.empty()) {
    // CLIENT LIST shows it: the slash at its beginning distinguishes it from a host.
    const std::string& path = options.unixsocket;
    const std::string absolute = path.starts_with('/') ? path : core::CanonicalPath(".") + "/" + path;
    done = net.ListenOnUnixSocket(absolute, UnixSocketPermissions(options));
  }
  return done ? core::Status() : core::Fail(core::ErrorCode::kIo, done.error());
}

}  // namespace bitsieve::server
