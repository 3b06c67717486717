// default_settings.h: settings as the server has them when no option is given. Thread-compatible.
#pragma once

#include "config/options.h"
#include "server/options/settings.h"

namespace bitsieve::test {

// Default values of CommandSettings, NetSettings or RequestLimits.
template <class Settings>
struct Default : Settings {
  Default() { server::Fill(*this, config::Options{}); }
};

}  // namespace bitsieve::test
