#include "commands/wire_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bitsieve::commands::wire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(WireErrors, WordsAndNumbersAreComposed) {
  static constexpr Composed kText{"from ", uint64_t{0}, " to ", UINT64_MAX, "]"};
  EXPECT_EQ(std::string_view(kText), "from 0 to 18446744073709551615]");
  EXPECT_EQ(std::string_view(kCapacityRange), "ERR capacity must be in the range [1, 1073741824]");
  EXPECT_EQ(std::string_view(kExpansionRange), "ERR expansion must be in the range [0, 32768]");
}

TEST(WireErrors, AQuotationOfAClientsBytesIsBounded) {
  EXPECT_EQ(Quoted("x"), "'x'");
  EXPECT_EQ(Quoted(std::string(1000, 'x')), "'" + std::string(128, 'x') + "'");
  EXPECT_LT(UnknownOption(std::string(1 << 20, 'x')).size(), 200U);
}

TEST(WireErrors, ControlCharactersOfNamesAreNotShown) {
  const std::string text = CannotLog(
      "a\r\nb\x01"
      "c.log: No space left on device");
  EXPECT_THAT(text, StartsWith("MISCONF Errors writing to the disk: a??b?c.log: No space left"));
}

TEST(WireErrors, AFilterThatCannotBeLoggedLacksMemoryOrTheDisk) {
  EXPECT_EQ(NotLogged({core::ErrorCode::kOutOfMemory, "x"}), kOutOfMemory);
  EXPECT_THAT(NotLogged({core::ErrorCode::kIo, "x"}), StartsWith("MISCONF "));
}

TEST(WireErrors, WhatATypeCannotDoNamesTypesThatCan) {
  const core::FilterTypeRow& blocked = *core::FindFilterType("blocked");
  EXPECT_THAT(CannotRemove(blocked), AllOf(StartsWith("ERR "), HasSubstr("blocked"), HasSubstr("counting")));
  EXPECT_THAT(CannotFreeze(blocked), AllOf(HasSubstr("ribbon"), Not(HasSubstr("counting"))));
  EXPECT_THAT(CannotDeny(*core::FindFilterType("cuckoo")), HasSubstr("blocked"));
}

}  // namespace
}  // namespace bitsieve::commands::wire
