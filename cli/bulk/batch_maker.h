// batch_maker.h: the commands that bring items to a server, many at a time. Confined to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/bulk/pipeline.h"

namespace bitsieve::cli {

// The words before the items, such as "BF.MADD key". `one_item`: the server takes one item per command. `timed_words`,
// for items that have a time: the words before it, with "ITEMS" to follow.
struct ItemCommand {
  std::vector<std::string> words;
  bool one_item = false;
  std::vector<std::string> timed_words = {};
};

class BatchMaker {
 public:
  explicit BatchMaker(ItemCommand command) : command_(std::move(command)) {
    for (const std::string& word : command_.words) AppendWord(head_, word);
    for (const std::string& word : command_.timed_words) AppendWord(timed_head_, word);
  }

  // Adds an item that expires after `ttl_ms`; 0: the server decides.
  void Add(std::string_view item, uint64_t ttl_ms = 0) {
    Group& group = groups_[ttl_ms];
    const size_t before = group.words.size();
    if (command_.one_item) AppendHead(group.words, 1, 0);
    AppendWord(group.words, item);
    ++group.items;
    ++batch_.items;
    bytes_ += group.words.size() - before;
  }
  // Returns the batch that is being made, for the caller to add what it keeps of the last item.
  Batch& batch() { return batch_; }
  bool empty() const { return batch_.items == 0; }
  // Returns whether there are as many items as a server works on without keeping other clients waiting.
  bool IsFull() const { return batch_.items >= kMaxItems || bytes_ >= kMaxBytes; }
  // Returns the batch with the items that were added, and begins the next one. Items of equal time are in one command.
  Batch Take() {
    for (const auto& [ttl_ms, group] : groups_) {
      if (!command_.one_item) {
        AppendHead(batch_.commands, group.items, ttl_ms);
        batch_.items_of.push_back(group.items);
      }
      batch_.commands += group.words;
    }
    batch_.one_each = command_.one_item;
    groups_.clear();
    bytes_ = 0;
    return std::exchange(batch_, {});
  }

 private:
  static constexpr size_t kMaxItems = 1000;
  static constexpr size_t kMaxBytes = 128 << 10;

  // Items of the same time.
  struct Group {
    std::string words;
    size_t items = 0;
  };

  void AppendHead(std::string& bytes, size_t items, uint64_t ttl_ms) const {
    if (ttl_ms == 0) {
      AppendCommandHead(bytes, command_.words.size() + items);
      bytes += head_;
      return;
    }
    AppendCommandHead(bytes, command_.timed_words.size() + 2 + items);
    bytes += timed_head_;
    AppendWord(bytes, std::to_string(ttl_ms));
    AppendWord(bytes, "ITEMS");
  }

  const ItemCommand command_;
  std::string head_;
  std::string timed_head_;
  std::map<uint64_t, Group> groups_;  // by time
  size_t bytes_ = 0;                  // of all groups
  Batch batch_;
};

}  // namespace bitsieve::cli
