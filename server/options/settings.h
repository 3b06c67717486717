// settings.h: the settings that the parts of the server take from the configuration. The parts know no options, and
// have no defaults of their own: their settings are filled here, at the start and after each change at run time.
// Thread-safe: pure functions, and settings that may be read at the same time.
#pragma once

#include <sys/types.h>

#include <optional>

#include "commands/command_settings.h"
#include "config/options.h"
#include "protocol/request_parser.h"
#include "server/net/net_settings.h"
#include "server/net/tls_settings.h"

namespace bitsieve::server {

void Fill(commands::CommandSettings& settings, const config::Options& options);
void Fill(NetSettings& settings, const config::Options& options);
void Fill(protocol::RequestLimits& limits, const config::Options& options);

TlsSettings TlsSettingsOf(const config::Options& options);
// unixsocketperm; nothing if it is empty.
std::optional<mode_t> UnixSocketPermissions(const config::Options& options);

}  // namespace bitsieve::server
