// type_docs.h: what the documentation of commands says of the filter types' options and fields, from the types' rows.
// Thread-safe: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace bitsieve::commands {

// Returns the text with what the rows say in the place of these: {options}, a syntax; {option notes}, sentences;
// {fields}, the selectors of a syntax; {field notes}, a list.
std::string WithTypeDocs(std::string_view text);

}  // namespace bitsieve::commands
