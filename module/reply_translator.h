// reply_translator.h: what a handler wrote, as bytes of the protocol, given to the engine element by element. The
// engine writes it in the version that its client has chosen. Confined to the thread of the context.
#pragma once

#include <string_view>

#include "module/engine_api.h"

namespace bitsieve::module {

// `out_of_memory`, if not empty, takes the place of errors that say so.
void TranslateReply(engine::Context* context, std::string_view bytes, std::string_view out_of_memory = {});

}  // namespace bitsieve::module
