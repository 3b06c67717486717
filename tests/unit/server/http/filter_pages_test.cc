#include "server/http/filter_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "commands/followed_filters.h"
#include "core/filter/filter_dump.h"
#include "server/http/byte_source.h"
#include "server/http/dump_source.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kChunk = 1000;

std::string HeaderOf(const AdminResponse& response, const std::string& name) {
  for (const auto& [each, value] : response.headers) {
    if (each == name) return value;
  }
  return "";
}

std::string RestOf(ByteSource& source) {
  std::string rest;
  while (!source.AtEnd()) EXPECT_TRUE(source.Read(kChunk, rest));
  return rest;
}

std::string BodyOf(const AdminResponse& response) {
  if (response.rest == nullptr) return response.body;
  std::string body = RestOf(*response.rest);
  EXPECT_EQ(response.rest_bytes.value_or(body.size()), body.size());
  return body;
}

class FilterPagesTest : public ::testing::Test, protected test::CommandFixture {
 protected:
  FilterPagesTest() { pages_.Configure({.are_served = true}); }

  AdminResponse Get(const std::string& target, AdminRequest request = {}) {
    request.method = request.method.empty() ? "GET" : request.method;
    request.target = target;
    request.host = request.host.empty() ? "localhost" : request.host;
    request.takes_chunks = true;
    return pages_.Answer(request);
  }
  AdminResponse Changes(const std::string& since, const std::string& count = "") {
    AdminRequest request;
    if (!since.empty()) request.parameters.emplace("since", since);
    if (!count.empty()) request.parameters.emplace("count", count);
    return Get("/filters/f/changes?", std::move(request));
  }
  std::string DumpOf(const std::string& name) { return *core::DumpFilter(*registry.Find(name)); }

  bool needs_password_ = false;
  AdminAccess access_{
      .needs_password = [this] { return needs_password_; },
      .may_read = [](std::string_view, std::string_view) { return false; },
      .admit_to_filter =
          [](const std::optional<Credentials>& credentials, std::string_view command, std::string_view name) {
            if (credentials && credentials->password != "right") return Admission::kNeedsPassword;
            const bool is_known = command == "bf.follow" || command == "bf.changes";
            return is_known && name != "secret" ? Admission::kAllowed : Admission::kHidden;
          }};
  FilterPages pages_{EnvironmentWith(nullptr), access_};
};

TEST(FilterPath, NamesAreAnyBytes) {
  EXPECT_EQ(ParseFilterPath("/filters/seen"), (FilterPath{"seen", false}));
  EXPECT_EQ(ParseFilterPath("/filters/seen?x=/changes"), (FilterPath{"seen", false}));
  EXPECT_EQ(ParseFilterPath("/filters/a%2Fb+c%20%c3%A9%00"), (FilterPath{std::string("a/b+c \xc3\xa9\0", 9), false}));
  EXPECT_EQ(ParseFilterPath("/filters/a/changes?since=x"), (FilterPath{"a", true}));
  EXPECT_EQ(ParseFilterPath("/filters/a%2Fchanges"), (FilterPath{"a/changes", false}));
  EXPECT_EQ(ParseFilterPath("/filters/changes"), (FilterPath{"changes", false}));
  for (const char* wrong : {"/filters", "/filters/", "/filters/?a", "/filters//changes", "/filters/a/b", "/filters/a/",
                            "/filters/%", "/filters/%2", "/filters/%zz", "/filters/a/changes/", "filters/a", "/x"}) {
    EXPECT_FALSE(ParseFilterPath(wrong)) << wrong;
  }
}

TEST_F(FilterPagesTest, ServesTheDumpWithItsPosition) {
  Reply({"BF.RESERVE", "f", "0.01", "10000"});
  Reply({"BF.ADD", "f", "a"});
  const AdminResponse response = Get("/filters/f");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.type, "application/octet-stream");
  EXPECT_TRUE(BodyOf(response) == DumpOf("f"));
  const std::string position = HeaderOf(response, "Bitsieve-Position");
  EXPECT_TRUE(commands::ParsePosition(position)) << position;
  EXPECT_EQ(HeaderOf(response, "ETag"), "\"" + position + "\"");
  EXPECT_EQ(HeaderOf(response, "Cache-Control"), "public, max-age=1");
  EXPECT_EQ(HeaderOf(response, "Vary"), "Accept-Encoding");
}

TEST_F(FilterPagesTest, AnUnchangedFilterIsNotSentAgain) {
  Reply({"BF.ADD", "f", "a"});
  const std::string tag = HeaderOf(Get("/filters/f"), "ETag");
  for (const std::string& list :
       {tag, "W/" + tag, "\"x\", " + tag + " ,\"y\"", std::string("*"), tag.substr(0, tag.size() - 1) + "-gzip\""}) {
    const AdminResponse response = Get("/filters/f", {.if_none_match = list});
    EXPECT_EQ(response.status, 304) << list;
    EXPECT_EQ(HeaderOf(response, "ETag"), tag);
    EXPECT_EQ("\"" + HeaderOf(response, "Bitsieve-Position") + "\"", tag);
    EXPECT_EQ(response.rest, nullptr);
  }
  EXPECT_EQ(Get("/filters/f", {.if_none_match = "\"x\""}).status, 200);
  Reply({"BF.ADD", "f", "b"});
  const AdminResponse changed = Get("/filters/f", {.if_none_match = tag});
  EXPECT_EQ(changed.status, 200);
  EXPECT_NE(HeaderOf(changed, "ETag"), tag);
}

TEST_F(FilterPagesTest, ServesRanges) {
  Reply({"BF.RESERVE", "f", "0.01", "2000000"});
  Reply({"BF.ADD", "f", "a"});
  const std::string dump = DumpOf("f");
  const std::string total = std::to_string(dump.size());
  ASSERT_GT(dump.size(), size_t{2} << 20) << "more than is skipped at once";
  const auto expect_part = [&](const std::string& range, uint64_t begin, uint64_t end) {
    const AdminResponse response = Get("/filters/f", {.accept_encoding = "gzip", .range = range});
    EXPECT_EQ(response.status, 206) << range;
    EXPECT_EQ(HeaderOf(response, "Content-Range"),
              "bytes " + std::to_string(begin) + "-" + std::to_string(end - 1) + "/" + total);
    EXPECT_EQ(HeaderOf(response, "Content-Encoding"), "");
    EXPECT_TRUE(BodyOf(response) == dump.substr(begin, end - begin)) << range;
  };
  expect_part("bytes=0-0", 0, 1);
  expect_part("bytes=100-5000", 100, 5001);
  expect_part("bytes=2200000-", 2200000, dump.size());
  expect_part("bytes=-9", dump.size() - 9, dump.size());
  const AdminResponse outside = Get("/filters/f", {.range = "bytes=" + total + "-"});
  EXPECT_EQ(outside.status, 416);
  EXPECT_EQ(HeaderOf(outside, "Content-Range"), "bytes */" + total);
  EXPECT_EQ(Get("/filters/f", {.range = "bytes=0-1,3-4"}).status, 200) << "may be ignored";
}

TEST_F(FilterPagesTest, ADumpIsOfOneMoment) {
  Reply({"BF.RESERVE", "f", "0.01", "100000"});
  const std::string before = DumpOf("f");
  const core::FilterPtr filter = registry.Find("f");
  DumpSource source(filter, filter->Capture());
  std::string begin;
  ASSERT_TRUE(source.Read(kChunk, begin));
  Reply({"BF.MADD", "f", "a", "b", "c"});
  Reply({"DEL", "f"});
  EXPECT_TRUE(begin + RestOf(source) == before);
}

TEST_F(FilterPagesTest, ARangeOfAnotherContentIsTheWholeOfThisOne) {
  Reply({"BF.ADD", "f", "a"});
  const std::string tag = HeaderOf(Get("/filters/f"), "ETag");
  EXPECT_EQ(Get("/filters/f", {.if_range = tag, .range = "bytes=1-2"}).status, 206);
  EXPECT_EQ(Get("/filters/f", {.if_range = "W/" + tag, .range = "bytes=1-2"}).status, 200) << "not exact";
  Reply({"BF.ADD", "f", "b"});
  const AdminResponse whole = Get("/filters/f", {.if_range = tag, .range = "bytes=1-2"});
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(BodyOf(whole) == DumpOf("f"));
}

TEST_F(FilterPagesTest, OnlySparseFiltersAreCompressed) {
  Reply({"BF.RESERVE", "f", "0.01", "100000"});
  Reply({"BF.ADD", "f", "a"});
  const std::string dump = DumpOf("f");
  for (const char* accepted : {"gzip", "br, gzip;q=0.5", "GZIP", "deflate , gzip;q=1.0"}) {
    const AdminResponse response = Get("/filters/f", {.accept_encoding = accepted});
    EXPECT_EQ(HeaderOf(response, "Content-Encoding"), "gzip") << accepted;
    EXPECT_THAT(HeaderOf(response, "ETag"), HasSubstr("-gzip\""));
    EXPECT_FALSE(response.rest_bytes);
    EXPECT_LT(BodyOf(response).size(), dump.size() / 10);
  }
  for (const char* accepted : {"", "br", "gzip;q=0", "gzip;q=0.000", "gzipped", "identity"}) {
    EXPECT_EQ(HeaderOf(Get("/filters/f", {.accept_encoding = accepted}), "Content-Encoding"), "") << accepted;
  }
  test::Words add = {"BF.MADD", "f"};
  for (int i = 0; i < 60000; ++i) add.push_back(std::to_string(i));
  Reply(add);
  EXPECT_EQ(HeaderOf(Get("/filters/f", {.accept_encoding = "gzip"}), "Content-Encoding"), "");
}

TEST_F(FilterPagesTest, ServesTheChangesSinceAPosition) {
  Reply({"BF.RESERVE", "f", "0.01", "10000"});
  const std::string begin = HeaderOf(Get("/filters/f"), "Bitsieve-Position");
  EXPECT_EQ(BodyOf(Changes(begin)), "");
  Reply({"BF.MADD", "f", "a", "b", "c"});
  const AdminResponse two = Changes(begin, "2");
  EXPECT_EQ(two.status, 200);
  EXPECT_EQ(two.body.size(), 3 + 2 * 16U);
  EXPECT_EQ(HeaderOf(two, "Bitsieve-More"), "1");
  EXPECT_EQ(HeaderOf(two, "Cache-Control"), "public, max-age=60");
  const AdminResponse last = Changes(HeaderOf(two, "Bitsieve-Position"));
  EXPECT_EQ(last.body.size(), 3 + 16U);
  EXPECT_EQ(HeaderOf(last, "Bitsieve-More"), "0");
  EXPECT_EQ(HeaderOf(last, "Cache-Control"), "");
  EXPECT_EQ(HeaderOf(last, "Bitsieve-Position"), HeaderOf(Get("/filters/f"), "Bitsieve-Position"));
}

TEST_F(FilterPagesTest, AGapIsGone) {
  Reply({"BF.ADD", "f", "a"});
  EXPECT_EQ(Changes("0123456789abcdef-0").status, 410) << "not followed";
  const std::string begin = HeaderOf(Get("/filters/f"), "Bitsieve-Position");
  Reply({"BF.CLEAR", "f"});
  const AdminResponse response = Changes(begin);
  EXPECT_EQ(response.status, 410);
  EXPECT_THAT(response.body, HasSubstr("read the filter again"));
}

TEST_F(FilterPagesTest, RefusesMalformedRequests) {
  Reply({"BF.ADD", "f", "a"});
  const std::string begin = HeaderOf(Get("/filters/f"), "Bitsieve-Position");
  for (const char* since : {"", "0", "-", "0123456789abcdef", "0123456789abcdef-", "x123456789abcdef-0"}) {
    EXPECT_EQ(Changes(since).status, 400) << since;
  }
  for (const char* count : {"0", "-1", "65537", "many", "99999999999999999999"}) {
    EXPECT_EQ(Changes(begin, count).status, 400) << count;
  }
  EXPECT_EQ(Get("/filters/f/other").status, 404);
  EXPECT_EQ(Get("/filters/f", {.method = "POST"}).status, 405);
  EXPECT_EQ(Get("/filters/f", {.method = "OPTIONS"}).status, 405) << "no other origin may read them";
}

TEST_F(FilterPagesTest, AFilterThatTheUserMayNotReadIsAsOneThatDoesNotExist) {
  Reply({"BF.ADD", "f", "a"});
  Reply({"BF.ADD", "secret", "a"});
  const AdminResponse missing = Get("/filters/missing");
  const AdminResponse hidden = Get("/filters/secret");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(std::pair(hidden.status, hidden.body), std::pair(missing.status, missing.body));
  EXPECT_EQ(hidden.headers, missing.headers);
  EXPECT_EQ(Get("/filters/secret/changes?since=x").body, missing.body);
}

TEST_F(FilterPagesTest, APasswordIsNeededOnLoopbackToo) {
  Reply({"BF.ADD", "f", "a"});
  EXPECT_EQ(Get("/filters/f", {.authorization = "Basic OndybmcK", .from_loopback = true}).status, 401) << "wrong";
  EXPECT_EQ(Get("/filters/f", {.authorization = "Bearer x"}).status, 401);
  needs_password_ = true;
  EXPECT_EQ(Get("/filters/f", {.from_loopback = true}).status, 401);
  const AdminResponse response = Get("/filters/f", {.host = "evil.example.com", .authorization = "Basic dTpyaWdodA=="});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(HeaderOf(response, "Cache-Control"), "private, no-cache");
}

TEST_F(FilterPagesTest, OtherOriginsMayReadThemOnlyIfTheOptionSaysSo) {
  Reply({"BF.ADD", "f", "a"});
  EXPECT_EQ(HeaderOf(Get("/filters/f"), "Access-Control-Allow-Origin"), "");
  EXPECT_EQ(Get("/filters/f", {.host = "evil.example.com"}).status, 403);
  pages_.Configure({.are_served = true, .origin = "https://example.com"});
  for (const char* target : {"/filters/f", "/filters/missing", "/filters/f/changes?since=x"}) {
    const AdminResponse response = Get(target);
    EXPECT_EQ(HeaderOf(response, "Access-Control-Allow-Origin"), "https://example.com") << target;
    EXPECT_EQ(HeaderOf(response, "Cross-Origin-Resource-Policy"), "cross-origin") << target;
  }
  EXPECT_EQ(Get("/filters/f", {.host = "evil.example.com"}).status, 403);
  const AdminResponse preflight = Get("/filters/f", {.method = "OPTIONS"});
  EXPECT_EQ(preflight.status, 204);
  EXPECT_THAT(HeaderOf(preflight, "Access-Control-Allow-Headers"),
              AllOf(HasSubstr("Authorization"), HasSubstr("Range")));
  pages_.Configure({.are_served = true, .origin = "*"});
  EXPECT_EQ(Get("/filters/f", {.host = "filters.example.com"}).status, 200);
}

TEST_F(FilterPagesTest, ServesNothingUnlessTheOptionSaysSo) {
  Reply({"BF.ADD", "f", "a"});
  pages_.Configure({});
  EXPECT_EQ(Get("/filters/f").status, 404);
  EXPECT_THAT(Get("/filters/f").body, HasSubstr("admin-filters"));
  pages_.Configure({.are_served = true});
  stats.loading_since_unix_s = 1;
  EXPECT_EQ(Get("/filters/f").status, 503);
}

}  // namespace
}  // namespace bitsieve::server
