// shown_name.h: filter names, which are any bytes, where text is needed: in JSON, on a page and as labels of metrics.
// Thread-safe: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace bitsieve::server {

// UTF-8 that differs from name to name: bytes that are no UTF-8, control characters and backslashes are written as
// \x0a. A long name is cut, and a number that follows from all of it stands at the end.
std::string ShownName(std::string_view name);

// Returns the name as a value within the query of a URL: "a%20b".
std::string UrlEncoded(std::string_view name);

}  // namespace bitsieve::server
