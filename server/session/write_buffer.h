// write_buffer.h: replies that the socket did not take yet. Empty, and without memory, for every client that reads its
// replies. Large replies are taken over as they are, not copied; small ones are gathered in blocks; what several
// connections send is shared. A block is freed as soon as it is sent, and of a very large one each megabyte, since
// freeing 100 MB at once takes a loop 10 ms. Confined to its loop.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace bitsieve::server {

class WriteBuffer {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t blocks() const { return blocks_ ? blocks_->size() : 0; }
  // Returns the memory of the blocks, with the bytes of the first one that were sent.
  size_t memory_bytes() const { return memory_bytes_; }
  // The first block's bytes; empty only if all was sent.
  std::string_view unsent() const { return empty() ? std::string_view() : blocks_->front().bytes().substr(sent_); }

  // Appends `bytes` without the first `sent`. A long string is taken over, and empty afterwards.
  void Append(std::string& bytes, size_t sent) {
    const size_t added = bytes.size() - sent;
    if (added == 0) return;
    if (blocks_ == nullptr) blocks_ = std::make_unique<std::deque<Block>>();
    if (added >= kTakenOver && added >= bytes.capacity() / 4) {
      TakeOver(bytes, sent);
    } else {
      Gather(std::string_view(bytes).substr(sent));
    }
    size_ += added;
  }
  // `bytes` stay as they are for as long as `owner` is there. They count in full, even if they are shared.
  void AppendShared(std::shared_ptr<const void> owner, std::string_view bytes) {
    if (blocks_ == nullptr) blocks_ = std::make_unique<std::deque<Block>>();
    blocks_->push_back({.own = {}, .owner = std::move(owner), .shared = bytes});
    memory_bytes_ += bytes.size();
    size_ += bytes.size();
  }

  struct Block {
    std::string_view bytes() const { return owner == nullptr ? std::string_view(own) : shared; }
    size_t memory_bytes() const { return owner == nullptr ? own.capacity() : shared.size(); }

    std::string own;                    // unless there is an owner
    std::shared_ptr<const void> owner;  // of `shared`
    std::string_view shared;
  };
  // `sent` bytes, at most all of unsent(), are done with. Returns a large block that was sent, to be freed off the
  // event loop; empty if there is none.
  Block Consume(size_t sent) {
    Block finished;
    size_ -= sent;
    sent_ += sent;
    if (blocks_ == nullptr) return finished;
    if (sent_ - released_ >= kReleased) ReleaseSent();
    Block& first = blocks_->front();
    if (sent_ < first.bytes().size()) return finished;
    memory_bytes_ -= first.memory_bytes();
    if (first.memory_bytes() >= kReleased) finished = std::move(first);
    blocks_->pop_front();
    sent_ = released_ = 0;
    if (blocks_->empty()) blocks_.reset();
    return finished;
  }

 private:
  static constexpr size_t kTakenOver = 64 * 1024;
  static constexpr size_t kBlock = 256 * 1024;
  static constexpr size_t kReleased = 1024 * 1024;

  void TakeOver(std::string& bytes, size_t sent) {
    // Bytes that were sent stay in front of a first block; otherwise they are cut off.
    if (blocks_->empty()) {
      sent_ = sent;
    } else if (sent != 0) {
      bytes.erase(0, sent);
    }
    memory_bytes_ += bytes.capacity();
    blocks_->push_back({.own = std::move(bytes), .owner = nullptr, .shared = {}});
    bytes = std::string();
  }
  // Gives the pages of what was sent of the first block back to the system, unless it is shared. The block keeps its
  // addresses.
  void ReleaseSent();
  void Gather(std::string_view bytes) {
    const bool fits =
        !blocks_->empty() && blocks_->back().owner == nullptr && blocks_->back().own.size() + bytes.size() <= kBlock;
    if (!fits) memory_bytes_ += blocks_->emplace_back().memory_bytes();
    std::string& block = blocks_->back().own;
    memory_bytes_ -= block.capacity();
    block.append(bytes);
    memory_bytes_ += block.capacity();
  }

  std::unique_ptr<std::deque<Block>> blocks_;  // null while empty
  size_t sent_ = 0;                            // of the first block
  size_t released_ = 0;                        // of these: their pages are gone
  size_t size_ = 0;
  size_t memory_bytes_ = 0;
};

}  // namespace bitsieve::server
