// handler_context.h: the context of one command, for tests that call parts of a handler themselves. Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/command.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::test {

// A command that works on the fixture's filters; its reply stays here.
class HandlerContext {
 public:
  // The fixture outlives it.
  HandlerContext(CommandFixture& fixture, Words words, commands::Workers* workers = nullptr)
      : words_(std::move(words)),
        views_(words_.begin(), words_.end()),
        environment_{.settings = &fixture.settings,
                     .freezing = &fixture.control,
                     .transfers = &fixture.transfers,
                     .followed = &fixture.followed,
                     .workers = workers},
        context(environment_, fixture.registry, writer) {
    context.arguments = views_;
    context.row = server::AllCommands().FindFull(words_[0]);
  }

  const std::string& reply() const { return reply_; }

 private:
  const Words words_;
  const std::vector<std::string_view> views_;
  const commands::FilterEnvironment environment_;
  std::string reply_;

 public:
  protocol::ReplyWriter writer{reply_};
  commands::CommandContext context;
};

}  // namespace bitsieve::test
