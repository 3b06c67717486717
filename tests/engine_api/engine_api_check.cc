// Compares our declarations of the engines' module interface with the engine's own header, which is included ahead of
// this file: signatures, layouts and numbers. Whether it compiles is the test.

#include <cstddef>
#include <type_traits>

#include "module/engine_api.h"

namespace bitsieve::engine {
namespace {

// Types that are only pointed to have other names there.
struct Opaque;

template <class T>
struct Canonical {
  using Type = T;
};
template <class T>
requires std::is_class_v<T>
struct Canonical<T> {
  using Type = std::conditional_t<std::is_const_v<T>, const Opaque, Opaque>;
};
template <class T>
struct Canonical<T*> {
  using Type = typename Canonical<T>::Type*;
};
template <class R, class... A>
struct Canonical<R(A...)> {
  using Type = typename Canonical<R>::Type(typename Canonical<A>::Type...);
};
template <class R, class... A>
struct Canonical<R(A..., ...)> {
  using Type = typename Canonical<R>::Type(typename Canonical<A>::Type..., ...);
};
template <class Ours, class Theirs>
constexpr bool kAlike = std::is_same_v<typename Canonical<Ours>::Type, typename Canonical<Theirs>::Type>;

#define BITSIEVE_CHECK(result, name, arguments) \
  static_assert(kAlike<decltype(name), decltype(RedisModule_##name)>, "signature of " #name);
BITSIEVE_ENGINE_FUNCTIONS(BITSIEVE_CHECK)
#undef BITSIEVE_CHECK

#define BITSIEVE_SAME_FIELD(ours, our_field, theirs, their_field)                                   \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "::" #our_field); \
  static_assert(sizeof(ours::our_field) == sizeof(theirs::their_field), #ours "::" #our_field);

#define BITSIEVE_METHOD(name)                                          \
  BITSIEVE_SAME_FIELD(TypeMethods, name, RedisModuleTypeMethods, name) \
  static_assert(kAlike<decltype(TypeMethods::name), decltype(RedisModuleTypeMethods::name)>, "TypeMethods::" #name);
static_assert(sizeof(TypeMethods) == sizeof(RedisModuleTypeMethods));
static_assert(TypeMethods().version == REDISMODULE_TYPE_METHOD_VERSION);
BITSIEVE_METHOD(version)
BITSIEVE_METHOD(rdb_load)
BITSIEVE_METHOD(rdb_save)
BITSIEVE_METHOD(aof_rewrite)
BITSIEVE_METHOD(mem_usage)
BITSIEVE_METHOD(digest)
BITSIEVE_METHOD(free)
BITSIEVE_METHOD(aux_load)
BITSIEVE_METHOD(aux_save)
BITSIEVE_METHOD(aux_save_triggers)
BITSIEVE_METHOD(free_effort)
BITSIEVE_METHOD(unlink)
BITSIEVE_METHOD(copy)
BITSIEVE_METHOD(defrag)
BITSIEVE_METHOD(mem_usage2)
BITSIEVE_METHOD(free_effort2)
BITSIEVE_METHOD(unlink2)
BITSIEVE_METHOD(copy2)

// A field came after Redis 7.0; engines are given the size.
static_assert(sizeof(CommandArgument) >= sizeof(RedisModuleCommandArg));
BITSIEVE_SAME_FIELD(CommandArgument, name, RedisModuleCommandArg, name)
BITSIEVE_SAME_FIELD(CommandArgument, type, RedisModuleCommandArg, type)
BITSIEVE_SAME_FIELD(CommandArgument, key_spec, RedisModuleCommandArg, key_spec_index)
BITSIEVE_SAME_FIELD(CommandArgument, token, RedisModuleCommandArg, token)
BITSIEVE_SAME_FIELD(CommandArgument, summary, RedisModuleCommandArg, summary)
BITSIEVE_SAME_FIELD(CommandArgument, since, RedisModuleCommandArg, since)
BITSIEVE_SAME_FIELD(CommandArgument, flags, RedisModuleCommandArg, flags)
BITSIEVE_SAME_FIELD(CommandArgument, deprecated_since, RedisModuleCommandArg, deprecated_since)
BITSIEVE_SAME_FIELD(CommandArgument, subarguments, RedisModuleCommandArg, subargs)

static_assert(sizeof(KeySpec) == sizeof(RedisModuleCommandKeySpec));
BITSIEVE_SAME_FIELD(KeySpec, notes, RedisModuleCommandKeySpec, notes)
BITSIEVE_SAME_FIELD(KeySpec, flags, RedisModuleCommandKeySpec, flags)
BITSIEVE_SAME_FIELD(KeySpec, begin_search_type, RedisModuleCommandKeySpec, begin_search_type)
BITSIEVE_SAME_FIELD(KeySpec, begin.index.position, RedisModuleCommandKeySpec, bs.index.pos)
BITSIEVE_SAME_FIELD(KeySpec, find_keys_type, RedisModuleCommandKeySpec, find_keys_type)
BITSIEVE_SAME_FIELD(KeySpec, find.range.last_key, RedisModuleCommandKeySpec, fk.range.lastkey)
BITSIEVE_SAME_FIELD(KeySpec, find.range.step, RedisModuleCommandKeySpec, fk.range.keystep)
BITSIEVE_SAME_FIELD(KeySpec, find.range.limit, RedisModuleCommandKeySpec, fk.range.limit)

static_assert(sizeof(CommandHistory) == sizeof(RedisModuleCommandHistoryEntry));
static_assert(sizeof(CommandInfoVersion) == sizeof(RedisModuleCommandInfoVersion));
static_assert(sizeof(CommandInfo) == sizeof(RedisModuleCommandInfo));
BITSIEVE_SAME_FIELD(CommandInfo, version, RedisModuleCommandInfo, version)
BITSIEVE_SAME_FIELD(CommandInfo, summary, RedisModuleCommandInfo, summary)
BITSIEVE_SAME_FIELD(CommandInfo, complexity, RedisModuleCommandInfo, complexity)
BITSIEVE_SAME_FIELD(CommandInfo, since, RedisModuleCommandInfo, since)
BITSIEVE_SAME_FIELD(CommandInfo, history, RedisModuleCommandInfo, history)
BITSIEVE_SAME_FIELD(CommandInfo, tips, RedisModuleCommandInfo, tips)
BITSIEVE_SAME_FIELD(CommandInfo, arity, RedisModuleCommandInfo, arity)
BITSIEVE_SAME_FIELD(CommandInfo, key_specs, RedisModuleCommandInfo, key_specs)
BITSIEVE_SAME_FIELD(CommandInfo, arguments, RedisModuleCommandInfo, args)

#define BITSIEVE_SAME(ours, theirs) static_assert((ours) == static_cast<decltype(ours)>(theirs), #theirs);
BITSIEVE_SAME(kOk, REDISMODULE_OK)
BITSIEVE_SAME(kError, REDISMODULE_ERR)
BITSIEVE_SAME(kRead, REDISMODULE_READ)
BITSIEVE_SAME(kWrite, REDISMODULE_WRITE)
BITSIEVE_SAME(kKeyEmpty, REDISMODULE_KEYTYPE_EMPTY)
BITSIEVE_SAME(kKeyModule, REDISMODULE_KEYTYPE_MODULE)
BITSIEVE_SAME(kHandleIoErrors, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS)
BITSIEVE_SAME(kNoImplicitSignalModified, REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED)
BITSIEVE_SAME(kContextLua, REDISMODULE_CTX_FLAGS_LUA)
BITSIEVE_SAME(kContextMulti, REDISMODULE_CTX_FLAGS_MULTI)
BITSIEVE_SAME(kContextReplicated, REDISMODULE_CTX_FLAGS_REPLICATED)
BITSIEVE_SAME(kContextLoading, REDISMODULE_CTX_FLAGS_LOADING)
BITSIEVE_SAME(kContextDenyBlocking, REDISMODULE_CTX_FLAGS_DENY_BLOCKING)
BITSIEVE_SAME(kContextResp3, REDISMODULE_CTX_FLAGS_RESP3)
BITSIEVE_SAME(kNotifyModule, REDISMODULE_NOTIFY_MODULE)
BITSIEVE_SAME(kConfigDefault, REDISMODULE_CONFIG_DEFAULT)
BITSIEVE_SAME(kConfigMemory, REDISMODULE_CONFIG_MEMORY)
BITSIEVE_SAME(kArgString, REDISMODULE_ARG_TYPE_STRING)
BITSIEVE_SAME(kArgKey, REDISMODULE_ARG_TYPE_KEY)
BITSIEVE_SAME(kArgToken, REDISMODULE_ARG_TYPE_PURE_TOKEN)
BITSIEVE_SAME(kArgOneOf, REDISMODULE_ARG_TYPE_ONEOF)
BITSIEVE_SAME(kArgBlock, REDISMODULE_ARG_TYPE_BLOCK)
BITSIEVE_SAME(kArgOptional, REDISMODULE_CMD_ARG_OPTIONAL)
BITSIEVE_SAME(kArgMultiple, REDISMODULE_CMD_ARG_MULTIPLE)
BITSIEVE_SAME(kKeyReadOnly, REDISMODULE_CMD_KEY_RO)
BITSIEVE_SAME(kKeyReadWrite, REDISMODULE_CMD_KEY_RW)
BITSIEVE_SAME(kKeyAccess, REDISMODULE_CMD_KEY_ACCESS)
BITSIEVE_SAME(kKeyUpdate, REDISMODULE_CMD_KEY_UPDATE)
BITSIEVE_SAME(kBeginIndex, REDISMODULE_KSPEC_BS_INDEX)
BITSIEVE_SAME(kFindRange, REDISMODULE_KSPEC_FK_RANGE)

}  // namespace
}  // namespace bitsieve::engine
