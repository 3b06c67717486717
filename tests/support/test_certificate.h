// test_certificate.h: a certificate that signs itself, and its key, made anew for each test. Thread-compatible.
#pragma once

#include <string>

namespace bitsieve::test {

struct TestCertificate {
  std::string certificate, key;  // in PEM form
};

// For "localhost". `days` from now on; negative: it has expired.
TestCertificate MakeCertificate(int days = 1);

}  // namespace bitsieve::test
