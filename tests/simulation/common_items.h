// common_items.h: the items that all clients add to the filters that they share. Of many clients that add one, exactly
// one gets the reply that it is new; from then on every lookup finds it. Confined to threads of the simulation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/simulation/model.h"
#include "tests/simulation/reply.h"

namespace bitsieve::simulation {

class CommonItems {
 public:
  static bool IsCommon(const Step& step) { return step.size() == 3 && step[2].starts_with('x'); }

  // False if the reply cannot be right. Times are those of the step's command.
  bool Observe(const Step& step, const Reply& reply, int64_t sent_ns, int64_t replied_ns) {
    if (reply.is_error()) return true;
    Item& item = items_[{step[1], step[2]}];
    const bool was_there = item.known_since_ns >= 0 && item.known_since_ns <= sent_ns;
    const bool says_there = step[0] == "BF.ADD" ? reply.text == "0" : reply.text == "1";
    if (was_there && !says_there) return false;
    if (step[0] == "BF.EXISTS" && !says_there) return true;
    if (item.known_since_ns < 0) item.known_since_ns = replied_ns;
    item.was_acknowledged |= step[0] == "BF.ADD";  // whether it was new or not
    if (step[0] == "BF.ADD" && !says_there) return ++item.times_new == 1;
    return true;
  }
  // The server has crashed. What was acknowledged is there, if that was durable; what was only seen may be lost. Who
  // was the first to add it may not be known.
  void OnCrash(bool is_durable) {
    std::erase_if(items_, [&](const auto& item) { return !is_durable || !item.second.was_acknowledged; });
    for (auto& [name, item] : items_) item.times_new = 1;
  }

 private:
  struct Item {
    int64_t known_since_ns = -1;  // -1: it may be missing
    int times_new = 0;
    bool was_acknowledged = false;
  };
  std::map<std::pair<std::string, std::string>, Item> items_;
};

}  // namespace bitsieve::simulation
