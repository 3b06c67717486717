// outcome.h: what a step of a subcommand results in, or why it failed, in words for people. Thread-compatible.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace bitsieve::cli {

template <class T>
using Outcome = tl::expected<T, std::string>;

}  // namespace bitsieve::cli
