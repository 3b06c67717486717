#include "core/base/canonical_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/support/temporary_directory.h"

namespace bitsieve::core {
namespace {

TEST(CanonicalPath, FollowsLinksAndDots) {
  const TemporaryDirectory directory;
  const std::string root = CanonicalPath(directory.path());
  ASSERT_EQ(::mkdir((root + "/real").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("real", (root + "/link").c_str()), 0);
  EXPECT_EQ(CanonicalPath(root + "/./link/../link"), root + "/real");
}

TEST(CanonicalPath, ThatCannotBeFollowedStaysAsItIs) {
  const TemporaryDirectory directory;
  const std::string missing = directory.path() + "/missing/../x";
  EXPECT_EQ(CanonicalPath(missing), missing);
}

}  // namespace
}  // namespace bitsieve::core
