// taken_texts.h: takes all messages of an inbox, for tests that compare their payloads. Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "server/pubsub/inbox.h"

namespace bitsieve::test {

inline std::vector<std::string> Taken(server::Inbox& inbox) {
  std::vector<std::string> texts;
  inbox.Take([&](const server::Inbox::Item& item) {
    texts.push_back(item.message->payload);
    return true;
  });
  return texts;
}

}  // namespace bitsieve::test
