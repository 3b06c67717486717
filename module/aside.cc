#include "module/aside.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/out_of_memory.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_type.h"
#include "module/background_thread.h"
#include "module/content_limit.h"
#include "module/options.h"
#include "module/replication.h"
#include "module/reply_translator.h"

namespace bitsieve::module {
namespace {

// Total size of a command's filters from which on it runs aside. Measured: about 0.3 ns per byte.
constexpr uint64_t kManyBytes = 8 << 20;

// A filter that the command names, and what stands for it aside.
struct Named {
  std::string name;
  FilterPtr live = {};                            // null: there is none
  uint64_t changes = 0;                           // of it, when the command came
  std::unique_ptr<core::FilterImage> image = {};  // as of then, if the command writes
  FilterPtr filter = {};                          // live, or a copy of the image
};

// The keyspace of a command that runs aside. Confined to its thread.
class AsideKeyspace final : public commands::FilterKeyspace {
 public:
  explicit AsideKeyspace(std::vector<Named>& named) : named_(named) {}

  // Returns whether the filter of the first name was changed or is new.
  bool changed() const { return changed_; }

  core::Result<std::unique_ptr<commands::PreparedContent>> Prepare(const FilterPtr&) override { return nullptr; }
  FilterPtr Find(std::string_view name) const override { return std::ranges::find(named_, name, &Named::name)->filter; }
  FilterPtr InsertIfAbsent(std::string_view name, FilterPtr filter, int64_t /*expires_ms*/) override {
    FilterPtr& there = std::ranges::find(named_, name, &Named::name)->filter;
    if (there == nullptr) {
      there = std::move(filter);
      changed_ = true;
    }
    return there;
  }
  bool Put(std::string_view, FilterPtr, int64_t) override { return false; }
  bool Replace(std::string_view, const FilterPtr&, FilterPtr) override { return false; }
  core::Result<bool> ReplaceFolded(std::string_view name, core::FilterFold& fold) override {
    if (core::Status status = fold.TakeOver(); !status) return tl::unexpected(std::move(status).error());
    std::ranges::find(named_, name, &Named::name)->filter = fold.folded();
    changed_ = true;
    return true;
  }
  core::Status LogRewrite(const FilterPtr&) override {
    changed_ = true;
    return {};
  }
  core::MemoryBudget& memory() override {
    ContentLimit::BeginNew();
    return Budget();
  }
  const core::Clock& clock() const override { return TheClock(); }

 private:
  std::vector<Named>& named_;
  bool changed_ = false;
};

// One command, from the moment in which its client was blocked.
class AsideCommand {
 public:
  AsideCommand(engine::Context* context, engine::String** argv, int argc, const ModuleCommand& command)
      : command_(command), resp3_((engine::GetContextFlags(context) & engine::kContextResp3) != 0) {
    for (int i = 0; i < argc; ++i) strings_.push_back(engine::CreateStringFromString(nullptr, argv[i]));
    for (engine::String* string : strings_) arguments_.push_back(engine::TextOf(string));
  }
  AsideCommand(const AsideCommand&) = delete;
  AsideCommand& operator=(const AsideCommand&) = delete;

  void Name(const EngineKeyspace& keyspace) {
    keyspace.ForEach([this](std::string_view name, const Slot* slot) {
      Named named{.name = std::string(name)};
      if (slot != nullptr) {
        named.live = slot->filter;
        named.changes = slot->filter->ChangeCount();
        if (command_.writes) named.image = slot->filter->Capture();
      }
      named_.push_back(std::move(named));
    });
  }
  void Block(engine::Context* context) { client_ = engine::BlockClient(context, nullptr, nullptr, nullptr, 0); }

  // Runs on the module's background thread, whose context this is.
  void Run(engine::Context* of_thread) {
    std::string reply;
    const core::Result<bool> changed = core::OrOutOfMemory([&] { return Handle(reply); });
    std::vector<Named> dying;  // without the lock
    const EngineLock lock(of_thread);
    engine::Context* const context = engine::GetThreadSafeContext(client_);
    End(context, changed, reply);
    for (Named& named : named_) named.image.reset();  // takes the filter's lock
    for (engine::String* string : strings_) engine::FreeString(nullptr, string);
    dying = std::move(named_);
    engine::FreeThreadSafeContext(context);
    engine::UnblockClient(client_, nullptr);
  }

 private:
  // Whether the first filter was changed. An error: there is no memory for copies.
  core::Result<bool> Handle(std::string& reply) {
    for (Named& named : named_) {
      named.filter = named.live;
      if (named.image == nullptr) continue;
      auto copy = core::CloneFilter(*named.image, Budget(), TheClock());
      if (!copy) return tl::unexpected(std::move(copy).error());
      named.filter = FilterPtr(std::move(*copy));
    }
    AsideKeyspace keyspace(named_);
    const commands::FilterEnvironment environment{.settings = &Settings()};
    protocol::ReplyWriter writer(reply);
    writer.set_version(resp3_ ? protocol::ProtocolVersion::kResp3 : protocol::ProtocolVersion::kResp2);
    commands::CommandContext context(environment, keyspace, writer);
    context.row = command_.row;
    context.arguments = arguments_;
    ContentLimit limit(
        OwnSettings().max_filter_bytes.load(std::memory_order_relaxed), [](void*) { return true; }, nullptr, &memory_);
    commands::RunHandler(context);
    return keyspace.changed();
  }

  // Keeps the result of a read, and of a write whose filters have not changed since and that was not refused memory: an
  // error, too, comes from the same filters. Otherwise, or if there was no memory to finish, runs the command again
  // under the engine's lock.
  void End(engine::Context* context, const core::Result<bool>& changed, const std::string& reply) {
    EngineKeyspace keyspace;
    if (changed && (!command_.writes || (IsAsItWas(context, keyspace) && !reply.starts_with("-OOM")))) {
      if (*changed) Install(context, keyspace);
      TranslateReply(context, reply);
      return keyspace.CloseAll();
    }
    keyspace.CloseAll();
    RunCommand(context, strings_.data(), static_cast<int>(strings_.size()), command_, Origin::kAside);
  }

  bool IsAsItWas(engine::Context* context, EngineKeyspace& keyspace) {
    for (size_t i = 0; i < named_.size(); ++i) {
      const Named& named = named_[i];
      engine::String* const string = strings_[static_cast<size_t>(command_.row->keys.first) + i];
      if (!keyspace.Open(context, string, named.name, i == 0)) return false;
      const FilterPtr now = keyspace.Find(named.name);
      if (now != named.live || (now != nullptr && now->ChangeCount() != named.changes)) return false;
    }
    return true;
  }

  void Install(engine::Context* context, EngineKeyspace& keyspace) {
    Named& first = named_.front();
    if (first.live == nullptr) {
      keyspace.InsertIfAbsent(first.name, first.filter, 0);
    } else {
      keyspace.Replace(first.name, first.live, first.filter);
    }
    engine::String* const key = keyspace.first_string();
    Replicate({.context = context,
               .argv = strings_.data(),
               .argc = static_cast<int>(strings_.size()),
               .row = *command_.row,
               .key = key,
               .filter = *first.filter,
               .created = false,
               .origin = Origin::kAside,
               .at_ms = 0});
    engine::SignalModifiedKey(context, key);
    engine::NotifyKeyspaceEvent(context, engine::kNotifyModule, command_.row->name.data(), key);
  }

  const ModuleCommand& command_;
  const bool resp3_;
  const EngineMemory memory_ = EngineMemory::Now();  // when the command came
  engine::BlockedClient* client_ = nullptr;
  std::vector<engine::String*> strings_;
  std::vector<std::string_view> arguments_;
  std::vector<Named> named_;
};

// The commands that may take long, and whether they do something with filters of a type. Filters of other types they
// refuse at once, for which no filter needs to be copied.
struct LongCommand {
  std::string_view name;
  bool (*takes)(const core::FilterTypeRow& type);
};

bool IsUnited(const core::FilterTypeRow& type) { return type.unite != nullptr; }

constexpr std::array<LongCommand, 4> kLongCommands{{
    {"bf.merge", IsUnited},
    {"bf.estimate", IsUnited},
    {"bf.fold", [](const core::FilterTypeRow& type) { return type.fold != nullptr; }},
    {"cf.compact", [](const core::FilterTypeRow& type) { return type.is_cuckoo_value(); }},
}};

const LongCommand* FindLongCommand(const commands::CommandRow& row) {
  const auto* const found = std::ranges::find(kLongCommands, row.name, &LongCommand::name);
  return found == kLongCommands.end() ? nullptr : found;
}

bool TakesAll(const commands::CommandRow& row, const EngineKeyspace& keyspace) {
  const LongCommand& command = *FindLongCommand(row);
  bool all = true;
  keyspace.ForEach([&](std::string_view, const Slot* slot) {
    if (slot != nullptr) all = all && command.takes(slot->filter->type());
  });
  return all;
}

bool IsLarge(const EngineKeyspace& keyspace) {
  uint64_t bytes = 0;
  keyspace.ForEach([&bytes](std::string_view, const Slot* slot) {
    if (slot != nullptr) bytes += slot->filter->size_bytes();
  });
  return bytes >= kManyBytes;
}

}  // namespace

bool MayRunAside(const commands::CommandRow& row) { return FindLongCommand(row) != nullptr; }

bool RunAside(engine::Context* context, engine::String** argv, int argc, const ModuleCommand& command,
              const EngineKeyspace& keyspace) {
  constexpr int kCannotBlock = engine::kContextLua | engine::kContextMulti | engine::kContextDenyBlocking |
                               engine::kContextReplicated | engine::kContextLoading;
  if (!IsLarge(keyspace) || !TakesAll(*command.row, keyspace)) return false;
  if ((engine::GetContextFlags(context) & kCannotBlock) != 0) return false;
  static BackgroundThread& thread = *new BackgroundThread;
  const auto aside = std::make_shared<AsideCommand>(context, argv, argc, command);
  aside->Name(keyspace);
  aside->Block(context);
  thread.Run([aside](engine::Context* of_thread) { aside->Run(of_thread); });
  return true;
}

}  // namespace bitsieve::module
