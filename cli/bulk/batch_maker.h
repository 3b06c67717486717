// batch_maker.h: the command that brings items to a server, many at a time. Confined to one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cli/bulk/pipeline.h"

namespace bitsieve::cli {

// The words before the items, such as "BF.MADD key". `one_item`: the server takes one item per command.
struct ItemCommand {
  std::vector<std::string> words;
  bool one_item = false;
};

class BatchMaker {
 public:
  explicit BatchMaker(ItemCommand command) : command_(std::move(command)) {
    for (const std::string& word : command_.words) AppendWord(head_, word);
  }

  void Add(std::string_view item) {
    if (command_.one_item) Begin(1);
    AppendWord(items_, item);
    ++batch_.items;
  }
  // Returns the batch that is being made, for the caller to add what it keeps of the last item.
  Batch& batch() { return batch_; }
  bool empty() const { return batch_.items == 0; }
  // Returns whether there are as many items as a server works on without keeping other clients waiting.
  bool IsFull() const { return batch_.items >= kMaxItems || items_.size() >= kMaxBytes; }
  // Returns the batch with the items that were added, and begins the next one.
  Batch Take() {
    if (!command_.one_item) Begin(batch_.items);
    batch_.commands += items_;
    batch_.one_each = command_.one_item;
    items_.clear();
    return std::exchange(batch_, {});
  }

 private:
  static constexpr size_t kMaxItems = 1000;
  static constexpr size_t kMaxBytes = 128 << 10;

  void Begin(size_t items) {
    std::string& bytes = command_.one_item ? items_ : batch_.commands;
    AppendCommandHead(bytes, command_.words.size() + items);
    bytes += head_;
  }

  const ItemCommand command_;
  std::string head_;
  std::string items_;
  Batch batch_;
};

}  // namespace bitsieve::cli
