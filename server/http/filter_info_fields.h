// filter_info_fields.h: what BF.INFO key FULL replies, as values: the command itself is the one place that knows the
// fields. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/dispatch/environment.h"

namespace bitsieve::server {

using FieldValue = std::variant<std::nullptr_t, int64_t, double, bool, std::string>;

// Label and value, in the order of the reply; none if there is no such filter.
std::vector<std::pair<std::string, FieldValue>> FilterInfoFields(const Environment& server, std::string_view name);

}  // namespace bitsieve::server
