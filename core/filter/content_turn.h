// content_turn.h: turns at changing the content of a filter as a whole. A union or a fold goes through a filter slice
// by slice, for as long as that takes; one at a time does so with the same filter. Thread-safe.
#pragma once

namespace bitsieve::core {

class Filter;

// Holds the turn of a filter, which outlives it. The constructor waits for those that hold it, which takes time in
// proportion to the size of that filter; it may throw std::bad_alloc.
class ContentTurn {
 public:
  explicit ContentTurn(const Filter& filter);
  ContentTurn(const ContentTurn&) = delete;
  ContentTurn& operator=(const ContentTurn&) = delete;
  ~ContentTurn();

 private:
  const Filter* const filter_;
};

}  // namespace bitsieve::core
