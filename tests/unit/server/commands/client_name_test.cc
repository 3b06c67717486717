#include "server/commands/client_name.h"

#include <gtest/gtest.h>

#include <string>

namespace bitsieve::server {
namespace {

TEST(ClientName, MayHaveAnyPrintableCharacterButTheBlank) {
  std::string all;
  for (char byte = '!'; byte <= '~'; ++byte) all += byte;
  EXPECT_EQ(ClientNameError(all), "");
  EXPECT_EQ(ClientNameError(""), "") << "it takes the name away";
}

TEST(ClientName, CannotLookLikeAnotherFieldOrLineOfTheList) {
  for (const char byte : {' ', '\n', '\r', '\t', '\0', '\x7f', '\x80', '\xff'}) {
    const std::string name = std::string("a") + byte + "b";
    EXPECT_EQ(ClientNameError(name), wire::kBadClientName) << static_cast<int>(byte);
  }
}

TEST(ClientName, HasAtMost1024Bytes) {
  EXPECT_EQ(ClientNameError(std::string(kMaxClientNameBytes, 'a')), "");
  EXPECT_EQ(ClientNameError(std::string(kMaxClientNameBytes + 1, 'a')), wire::kLongClientName);
  EXPECT_NE(wire::kLongClientName.find(std::to_string(kMaxClientNameBytes)), std::string_view::npos);
}

}  // namespace
}  // namespace bitsieve::server
