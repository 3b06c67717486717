#include "server/net/tls_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/unit/server/net/tls_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class Context : public ::testing::Test {
 protected:
  std::string ErrorOf(const TlsSettings& settings) {
    const auto made = TlsContext::ForServer(settings);
    return made ? "" : made.error();
  }

  testing::TlsFiles files_;
};

TEST_F(Context, ShowsItsCertificate) {
  EXPECT_THAT(files_.Server()->Certificate(), MatchesRegex("CN = localhost, valid until .* GMT"));
  EXPECT_FALSE(files_.Server()->HasExpired());
  EXPECT_EQ(files_.Client()->Certificate(), "");
  files_.Write(test::MakeCertificate(-2));
  EXPECT_TRUE(files_.Server()->HasExpired());
}

TEST_F(Context, AnErrorNamesOptionFileAndReason) {
  TlsSettings settings = files_.Settings();
  settings.cert_file = files_.Path("none");
  EXPECT_EQ(ErrorOf(settings), "tls-cert-file " + settings.cert_file + ": No such file or directory");
  settings = files_.Settings();
  settings.key_file = settings.cert_file;
  EXPECT_EQ(ErrorOf(settings), "tls-key-file " + settings.key_file + ": does not contain a private key in PEM format");
  settings = files_.Settings();
  settings.ca_cert_file = "/";
  EXPECT_EQ(ErrorOf(settings), "tls-ca-cert-file /: is not a file");
  settings = files_.Settings();
  settings.ciphersuites = "TLS_NONE";
  EXPECT_THAT(ErrorOf(settings), HasSubstr("tls-ciphersuites \"TLS_NONE\": "));
}

TEST_F(Context, AKeyBelongsToItsCertificate) {
  std::ofstream(files_.Path("key")) << test::MakeCertificate().key;
  EXPECT_THAT(ErrorOf(files_.Settings()), HasSubstr("does not belong to the certificate of tls-cert-file"));
}

TEST_F(Context, AFileIsReadWithinBounds) {
  std::ofstream(files_.Path("cert")) << std::string(4 * 1024 * 1024 + 1, 'x');
  EXPECT_THAT(ErrorOf(files_.Settings()), HasSubstr("is larger than 4 MB"));
}

}  // namespace
}  // namespace bitsieve::server
