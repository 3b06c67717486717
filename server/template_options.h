// template_options.h: the templates of a configuration, checked. Thread-safe: a pure function.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "commands/filter_templates.h"
#include "config/options.h"
#include "server/namespace.h"

namespace bitsieve::server {

// Each problem names file, entry and field.
tl::expected<FilterTemplates, std::vector<std::string>> TemplatesOf(const config::Options& options);

}  // namespace bitsieve::server
