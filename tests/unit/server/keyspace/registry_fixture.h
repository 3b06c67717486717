// registry_fixture.h: a registry whose time the test makes pass.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "core/filter/filter_factory.h"
#include "server/keyspace/registry.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::server {

class RegistryTest : public testing::Test {
 protected:
  commands::FilterPtr NewFilter() { return std::move(*core::MakeFilter({}, memory_, core::SystemClock())); }
  commands::FilterPtr Put(std::string_view name) { return registry_.InsertIfAbsent(name, NewFilter()); }
  std::multiset<std::string> ScanAll(uint64_t count = 10) {
    std::multiset<std::string> names;
    uint64_t cursor = 0;
    do {
      cursor = registry_.Scan(cursor, count,
                              [&](std::string_view name, const commands::FilterPtr&) { names.emplace(name); });
    } while (cursor != 0);
    return names;
  }

  void Pass(int64_t ms) { clock_.now_ms += ms; }

  test::ManualClock clock_;
  core::MemoryBudget memory_;
  Quotas quotas_{memory_};
  Registry registry_{quotas_, clock_, core::SystemClock()};
};

}  // namespace bitsieve::server
