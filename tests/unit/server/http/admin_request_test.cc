#include "server/http/admin_request.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

TEST(AdminRequestTest, AParameterIsTheFirstOfItsName) {
  AdminRequest request;
  request.parameters = {{"sort", "items"}, {"sort", "name"}, {"search", ""}};
  EXPECT_EQ(request.Parameter("sort"), "items");
  EXPECT_EQ(request.Parameter("search"), "");
  EXPECT_EQ(request.Parameter("missing"), "");
  EXPECT_EQ(request.Parameter("SORT"), "") << "names differ by case";
}

}  // namespace
}  // namespace bitsieve::server
