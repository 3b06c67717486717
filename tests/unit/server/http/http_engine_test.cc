#include "server/http/http_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "server/http/admin_router.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Digits final : public ByteSource {
 public:
  bool AtEnd() const override { return at_ == text_.size(); }
  bool Read(size_t most, std::string& out) override {
    out += text_.substr(at_, most);
    at_ = std::min(at_ + most, text_.size());
    return true;
  }

 private:
  const std::string text_ = "12345";
  size_t at_ = 0;
};

AdminResponse Rest(const AdminRequest& request) {
  AdminResponse response{.rest = std::make_shared<Digits>()};
  if (request.Parameter("chunked").empty()) response.rest_bytes = 5;
  return response;
}

std::string RestOf(const HttpAnswer& answer) {
  std::string rest;
  while (!answer.rest->AtEnd()) EXPECT_TRUE(answer.rest->Read(2, rest));
  return rest;
}

class Http : public ::testing::Test {
 protected:
  std::string Ask(const std::string& line, const std::string& headers = "", const std::string& peer = "127.0.0.1") {
    return engine_.Answer(line + "\r\nHost: localhost\r\n" + headers + "\r\n", peer).bytes;
  }
  HttpAnswer Answer(const std::string& line) {
    return engine_.Answer(line + "\r\nHost: localhost\r\n\r\n", "127.0.0.1");
  }

  AdminAccess access_{.needs_password = [] { return true; },
                      .may_read = [](std::string_view, std::string_view password) { return password == "+/p"; }};
  AdminRouter router_{{{"/open", [](const AdminRequest&) { return AdminResponse{.body = "open"}; }, true},
                       {"/closed",
                        [](const AdminRequest& request) {
                          return AdminResponse{.type = "text/x", .body = std::string(request.Parameter("name"))};
                        }},
                       {"/range", [](const AdminRequest& request) { return AdminResponse{.body = request.range}; }},
                       {"/rest", Rest},
                       {"/unchanged", [](const AdminRequest&) { return AdminResponse{.status = 304}; }},
                       {"/fails", [](const AdminRequest&) -> AdminResponse { throw std::bad_alloc(); }}},
                      access_};
  HttpEngine engine_{[this](const AdminRequest& request) { return router_.Answer(request); }};
};

TEST_F(Http, AnswersWithSecurityHeaders) {
  EXPECT_THAT(Ask("GET /open HTTP/1.1"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("default-src 'none'"), HasSubstr("nosniff"),
                    HasSubstr("frame-ancestors 'none'"), HasSubstr("Connection: close"), EndsWith("\r\n\r\nopen"),
                    Not(HasSubstr("Access-Control"))));
  EXPECT_THAT(Ask("GET /closed?name=a%00%ff+b HTTP/1.1", "Accept-Encoding: br, gzip\r\n"),
              EndsWith(std::string("\r\n\r\na\0\xff b", 9)));
}

TEST_F(Http, RefusesOtherMethodsAndPages) {
  EXPECT_THAT(Ask("POST /open HTTP/1.1"), AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET, HEAD")));
  EXPECT_THAT(Ask("GET /nothing HTTP/1.1"), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("no such page")));
  EXPECT_THAT(Ask("GET /open/../closed HTTP/1.1"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("NONSENSE"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("HEAD /open HTTP/1.1"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Length: 4"), EndsWith("\r\n\r\n")));
}

TEST_F(Http, AsksForAPassword) {
  EXPECT_THAT(Ask("GET /closed HTTP/1.1", "", "10.0.0.1"),
              AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Basic realm=")));
  EXPECT_THAT(Ask("GET /closed HTTP/1.1", "Authorization: Basic dTorL3A=\r\n", "10.0.0.1"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET /nothing HTTP/1.1", "", "10.0.0.1"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Ask("GET /open HTTP/1.1", "", "10.0.0.1"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET /closed HTTP/1.1", "", "::ffff:127.0.0.1"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET /closed HTTP/1.1", "REMOTE_ADDR: 127.0.0.1\r\n", "10.0.0.1"), StartsWith("HTTP/1.1 401"));
}

TEST_F(Http, RefusesStrangeHosts) {
  EXPECT_THAT(engine_.Answer("GET /closed HTTP/1.1\r\nHost: evil.com\r\n\r\n", "127.0.0.1").bytes,
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Ask("GET /closed HTTP/1.1", "Host: evil.com\r\n"), StartsWith("HTTP/1.1 403")) << "two of them";
  EXPECT_THAT(engine_.Answer("GET /closed HTTP/1.0\r\n\r\n", "127.0.0.1").bytes, StartsWith("HTTP/1.1 403"));
}

TEST_F(Http, BoundsWhatItReads) {
  EXPECT_THAT(engine_.Answer(std::string(kMaxHeadBytes, 'x'), "").bytes, StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Ask("GET /" + std::string(5000, 'x') + " HTTP/1.1"), StartsWith("HTTP/1.1 414"));
  std::string many;
  for (int i = 0; i < 200; ++i) many += "a: b\r\n";
  EXPECT_THAT(Ask("GET /open HTTP/1.1", many), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Ask("GET /open HTTP/1.1", "RANGE: bytes=" + std::string(10'000, '1') + "\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(Http, HandsTheRangeToThePage) {
  EXPECT_THAT(Ask("GET /range HTTP/1.1", "Range:  bytes=0-1 \r\nX: y\r\n"), EndsWith("\r\n\r\nbytes=0-1"));
  EXPECT_THAT(Ask("GET /range HTTP/1.1", "x: y\r\nRANGE:bytes=a-b,,\r\n"), EndsWith("\r\n\r\nbytes=a-b,,"));
  EXPECT_THAT(Ask("GET /range HTTP/1.1", "Range: bytes=0-1\r\nrange: bytes=0-2\r\n"), EndsWith("\r\n\r\n")) << "two";
  EXPECT_THAT(Ask("GET /range HTTP/1.1", "Range:\r\n"), EndsWith("\r\n\r\n"));
}

TEST_F(Http, ABodyMayFollowTheBytes) {
  const HttpAnswer whole = Answer("GET /rest HTTP/1.1");
  EXPECT_THAT(whole.bytes, AllOf(HasSubstr("Content-Length: 5\r\n"), Not(HasSubstr("Length: 0")), EndsWith(kHeadEnd)));
  EXPECT_EQ(RestOf(whole), "12345");
  const HttpAnswer chunked = Answer("GET /rest?chunked=1 HTTP/1.1");
  EXPECT_THAT(chunked.bytes,
              AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"), Not(HasSubstr("Content-Length")), EndsWith(kHeadEnd)));
  EXPECT_EQ(RestOf(chunked), "2\r\n12\r\n2\r\n34\r\n1\r\n5\r\n0\r\n\r\n");
  const HttpAnswer head = Answer("HEAD /rest HTTP/1.1");
  EXPECT_THAT(head.bytes, AllOf(HasSubstr("Content-Length: 5\r\n"), EndsWith(kHeadEnd)));
  EXPECT_EQ(head.rest, nullptr);
}

TEST_F(Http, AnUnchangedPageHasNoLength) {
  EXPECT_THAT(Ask("GET /unchanged HTTP/1.1"),
              AllOf(StartsWith("HTTP/1.1 304 Not Modified\r\n"), Not(HasSubstr("Content-Length")), EndsWith(kHeadEnd)));
}

TEST_F(Http, KeepsFailuresToItself) {
  EXPECT_THAT(Ask("GET /fails HTTP/1.1"), AllOf(StartsWith("HTTP/1.1 500"), Not(HasSubstr("bad_alloc"))));
}

}  // namespace
}  // namespace bitsieve::server
