// engine_api.h: the part of the module interface of Valkey and Redis that Bitsieve calls: our own declarations of what
// the published API reference describes. One .so serves both engines: Valkey offers every function under the older
// prefix, too. Functions are null until Load; the optional ones stay null where the engine is too old for them.
//
// Confined to the engine's main thread, except for Alloc, Calloc, TryAlloc, Free and GetThreadSafeContext to
// ThreadSafeContextUnlock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bitsieve::engine {

struct BlockedClient;
struct Command;
struct Context;
struct Defrag;
struct Digest;
struct Info;
struct Io;
struct Key;
struct KeyOptions;
struct ServerInfo;
struct String;
struct Type;

using CommandFunction = int (*)(Context*, String**, int);

inline constexpr int kOk = 0;
inline constexpr int kError = 1;

// Modes of OpenKey, and what KeyType returns.
inline constexpr int kRead = 1 << 0;
inline constexpr int kWrite = 1 << 1;
inline constexpr int kKeyEmpty = 0;
inline constexpr int kKeyModule = 6;

// SetModuleOptions.
inline constexpr int kHandleIoErrors = 1 << 0;
inline constexpr int kNoImplicitSignalModified = 1 << 1;

// GetContextFlags.
inline constexpr int kContextLua = 1 << 0;
inline constexpr int kContextMulti = 1 << 1;
inline constexpr int kContextReplicated = 1 << 12;
inline constexpr int kContextLoading = 1 << 13;
inline constexpr int kContextDenyBlocking = 1 << 21;
inline constexpr int kContextResp3 = 1 << 22;

// NotifyKeyspaceEvent.
inline constexpr int kNotifyModule = 1 << 13;

// Register...Config.
inline constexpr unsigned kConfigDefault = 0;
inline constexpr unsigned kConfigMemory = 1 << 7;

// Callbacks of a data type, in the layout that Redis 7.0 and later and Valkey know as version 4.
struct TypeMethods {
  uint64_t version = 4;
  void* (*rdb_load)(Io*, int) = nullptr;
  void (*rdb_save)(Io*, void*) = nullptr;
  void (*aof_rewrite)(Io*, String*, void*) = nullptr;
  size_t (*mem_usage)(const void*) = nullptr;
  void (*digest)(Digest*, void*) = nullptr;
  void (*free)(void*) = nullptr;
  int (*aux_load)(Io*, int, int) = nullptr;
  void (*aux_save)(Io*, int) = nullptr;
  int aux_save_triggers = 0;
  size_t (*free_effort)(String*, const void*) = nullptr;
  void (*unlink)(String*, const void*) = nullptr;
  void* (*copy)(String*, String*, const void*) = nullptr;
  int (*defrag)(Defrag*, String*, void**) = nullptr;
  size_t (*mem_usage2)(KeyOptions*, const void*, size_t) = nullptr;
  size_t (*free_effort2)(KeyOptions*, const void*) = nullptr;
  void (*unlink2)(KeyOptions*, const void*) = nullptr;
  void* (*copy2)(KeyOptions*, const void*) = nullptr;
};

// SetCommandInfo.
enum ArgumentType : int {
  kArgString,
  kArgInteger,
  kArgDouble,
  kArgKey,
  kArgPattern,
  kArgTime,
  kArgToken,
  kArgOneOf,
  kArgBlock
};
inline constexpr int kArgOptional = 1 << 0;
inline constexpr int kArgMultiple = 1 << 1;
struct CommandArgument {
  const char* name;
  ArgumentType type;
  int key_spec;
  const char* token;
  const char* summary;
  const char* since;
  int flags;
  const char* deprecated_since;
  CommandArgument* subarguments;
  const char* display_text;  // since Redis 7.2; the engine is given the size of this
};
inline constexpr uint64_t kKeyReadOnly = 1 << 0;
inline constexpr uint64_t kKeyReadWrite = 1 << 1;
inline constexpr uint64_t kKeyAccess = 1 << 4;
inline constexpr uint64_t kKeyUpdate = 1 << 5;
enum BeginSearch : int { kBeginInvalid, kBeginUnknown, kBeginIndex, kBeginKeyword };
enum FindKeys : int { kFindInvalid, kFindUnknown, kFindRange, kFindNumber };
struct KeySpec {
  const char* notes;
  uint64_t flags;
  BeginSearch begin_search_type;
  union {
    struct {
      int position;
    } index;
    struct {
      const char* keyword;
      int start_from;
    } keyword;
  } begin;
  FindKeys find_keys_type;
  union {
    struct {
      int last_key, step, limit;
    } range;
    struct {
      int number_index, first_key, step;
    } number;
  } find;
};
struct CommandHistory {
  const char* since;
  const char* changes;
};
struct CommandInfoVersion {
  int version;
  size_t history_bytes, key_spec_bytes, argument_bytes;
};
struct CommandInfo {
  const CommandInfoVersion* version;
  const char* summary;
  const char* complexity;
  const char* since;
  CommandHistory* history;
  const char* tips;
  int arity;
  KeySpec* key_specs;
  CommandArgument* arguments;
};

#define BITSIEVE_ENGINE_FUNCTIONS(X)                                                                                 \
  X(void, SetModuleAttribs, (Context*, const char*, int, int))                                                       \
  X(int, IsModuleNameBusy, (const char*))                                                                            \
  X(void, SetModuleOptions, (Context*, int))                                                                         \
  X(int, CreateCommand, (Context*, const char*, CommandFunction, const char*, int, int, int))                        \
  X(Command*, GetCommand, (Context*, const char*))                                                                   \
  X(int, SetCommandInfo, (Command*, const CommandInfo*))                                                             \
  X(Type*, CreateDataType, (Context*, const char*, int, TypeMethods*))                                               \
  X(int, ModuleTypeSetValue, (Key*, Type*, void*))                                                                   \
  X(Type*, ModuleTypeGetType, (Key*))                                                                                \
  X(void*, ModuleTypeGetValue, (Key*))                                                                               \
  X(Key*, OpenKey, (Context*, String*, int))                                                                         \
  X(void, CloseKey, (Key*))                                                                                          \
  X(int, KeyType, (Key*))                                                                                            \
  X(int, SignalModifiedKey, (Context*, String*))                                                                     \
  X(const char*, StringPtrLen, (const String*, size_t*))                                                             \
  X(String*, CreateString, (Context*, const char*, size_t))                                                          \
  X(String*, CreateStringFromString, (Context*, const String*))                                                      \
  X(void, FreeString, (Context*, String*))                                                                           \
  X(int, GetContextFlags, (Context*))                                                                                \
  X(int, ReplyWithLongLong, (Context*, long long))                                                                   \
  X(int, ReplyWithBool, (Context*, int))                                                                             \
  X(int, ReplyWithDouble, (Context*, double))                                                                        \
  X(int, ReplyWithNull, (Context*))                                                                                  \
  X(int, ReplyWithNullArray, (Context*))                                                                             \
  X(int, ReplyWithStringBuffer, (Context*, const char*, size_t))                                                     \
  X(int, ReplyWithVerbatimString, (Context*, const char*, size_t))                                                   \
  X(int, ReplyWithSimpleString, (Context*, const char*))                                                             \
  X(int, ReplyWithError, (Context*, const char*))                                                                    \
  X(int, ReplyWithArray, (Context*, long))                                                                           \
  X(int, ReplyWithMap, (Context*, long))                                                                             \
  X(int, ReplyWithSet, (Context*, long))                                                                             \
  X(int, ReplicateVerbatim, (Context*))                                                                              \
  X(int, Replicate, (Context*, const char*, const char*, ...))                                                       \
  X(int, NotifyKeyspaceEvent, (Context*, int, const char*, String*))                                                 \
  X(int, GetNotifyKeyspaceEvents, ())                                                                                \
  X(void, Log, (Context*, const char*, const char*, ...))                                                            \
  X(void, SaveUnsigned, (Io*, uint64_t))                                                                             \
  X(void, SaveDouble, (Io*, double))                                                                                 \
  X(double, LoadDouble, (Io*))                                                                                       \
  X(uint64_t, LoadUnsigned, (Io*))                                                                                   \
  X(void, SaveStringBuffer, (Io*, const char*, size_t))                                                              \
  X(char*, LoadStringBuffer, (Io*, size_t*))                                                                         \
  X(int, IsIOError, (Io*))                                                                                           \
  X(void, LogIOError, (Io*, const char*, const char*, ...))                                                          \
  X(void, EmitAOF, (Io*, const char*, const char*, ...))                                                             \
  X(void, DigestAddStringBuffer, (Digest*, const char*, size_t))                                                     \
  X(void, DigestEndSequence, (Digest*))                                                                              \
  X(ServerInfo*, GetServerInfo, (Context*, const char*))                                                             \
  X(void, FreeServerInfo, (Context*, ServerInfo*))                                                                   \
  X(unsigned long long, ServerInfoGetFieldUnsigned, (ServerInfo*, const char*, int*))                                \
  X(const char*, ServerInfoGetFieldC, (ServerInfo*, const char*))                                                    \
  X(int, RegisterInfoFunc, (Context*, void (*)(Info*, int)))                                                         \
  X(int, InfoAddSection, (Info*, const char*))                                                                       \
  X(int, InfoAddFieldULongLong, (Info*, const char*, unsigned long long))                                            \
  X(int, RegisterNumericConfig,                                                                                      \
    (Context*, const char*, long long, unsigned, long long, long long, long long (*)(const char*, void*),            \
     int (*)(const char*, long long, void*, String**), int (*)(Context*, void*, String**), void*))                   \
  X(int, RegisterBoolConfig,                                                                                         \
    (Context*, const char*, int, unsigned, int (*)(const char*, void*), int (*)(const char*, int, void*, String**),  \
     int (*)(Context*, void*, String**), void*))                                                                     \
  X(int, RegisterStringConfig,                                                                                       \
    (Context*, const char*, const char*, unsigned, String* (*)(const char*, void*),                                  \
     int (*)(const char*, String*, void*, String**), int (*)(Context*, void*, String**), void*))                     \
  X(int, RegisterEnumConfig,                                                                                         \
    (Context*, const char*, int, unsigned, const char**, const int*, int, int (*)(const char*, void*),               \
     int (*)(const char*, int, void*, String**), int (*)(Context*, void*, String**), void*))                         \
  X(int, LoadConfigs, (Context*))                                                                                    \
  X(BlockedClient*, BlockClient, (Context*, CommandFunction, CommandFunction, void (*)(Context*, void*), long long)) \
  X(int, UnblockClient, (BlockedClient*, void*))                                                                     \
  X(Context*, GetThreadSafeContext, (BlockedClient*))                                                                \
  X(void, FreeThreadSafeContext, (Context*))                                                                         \
  X(void, ThreadSafeContextLock, (Context*))                                                                         \
  X(void, ThreadSafeContextUnlock, (Context*))                                                                       \
  X(void*, Alloc, (size_t))                                                                                          \
  X(void*, Calloc, (size_t, size_t))                                                                                 \
  X(void*, TryAlloc, (size_t))                                                                                       \
  X(void, Free, (void*))

// Newer than Redis 7.0.
#define BITSIEVE_ENGINE_OPTIONAL_FUNCTIONS(X)     \
  X(int, AddACLCategory, (Context*, const char*)) \
  X(size_t, MallocSize, (void*))                  \
  X(int, SetCommandACLCategories, (Command*, const char*))

#define BITSIEVE_DECLARE(result, name, arguments) extern result(*name) arguments;
BITSIEVE_ENGINE_FUNCTIONS(BITSIEVE_DECLARE)
BITSIEVE_ENGINE_OPTIONAL_FUNCTIONS(BITSIEVE_DECLARE)
#undef BITSIEVE_DECLARE

inline std::string_view TextOf(const String* string) {
  size_t size = 0;
  const char* const text = StringPtrLen(string, &size);
  return {text, size};
}

// Finds all functions. False if the engine lacks one that is not optional.
bool Load(Context* context);

}  // namespace bitsieve::engine
