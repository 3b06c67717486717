#include "module/engine_api.h"

namespace bitsieve::engine {

#define BITSIEVE_DEFINE(result, name, arguments) result(*name) arguments = nullptr;
BITSIEVE_ENGINE_FUNCTIONS(BITSIEVE_DEFINE)
BITSIEVE_ENGINE_OPTIONAL_FUNCTIONS(BITSIEVE_DEFINE)
#undef BITSIEVE_DEFINE

// A context's first word is the function that finds all others.
bool Load(Context* context) {
  const auto find = reinterpret_cast<int (*)(const char*, void*)>(*reinterpret_cast<void**>(context));
  bool all = true;
#define BITSIEVE_LOAD(result, name, arguments) all = find("RedisModule_" #name, &(name)) == kOk && all;
  BITSIEVE_ENGINE_FUNCTIONS(BITSIEVE_LOAD)
#undef BITSIEVE_LOAD
#define BITSIEVE_LOAD(result, name, arguments) \
  if (find("RedisModule_" #name, &(name)) != kOk) name = nullptr;
  BITSIEVE_ENGINE_OPTIONAL_FUNCTIONS(BITSIEVE_LOAD)
#undef BITSIEVE_LOAD
  return all;
}

}  // namespace bitsieve::engine
