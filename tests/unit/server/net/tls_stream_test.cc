#include "server/net/tls_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "tests/unit/server/net/tls_fixture.h"

namespace bitsieve::server {
namespace {

using ::testing::HasSubstr;
using testing::TlsPair;

class Stream : public ::testing::Test {
 protected:
  // All that comes, as after a report.
  static std::string Receive(const Socket& socket, size_t room_bytes = 65536) {
    socket.tls()->SetReadable(false);
    std::string received;
    std::vector<char> room(room_bytes);
    Socket::Transfer some{.more = true};
    while (some.more) {
      some = socket.Receive(room);
      received.append(room.data(), some.bytes);
    }
    return received;
  }

  testing::TlsFiles files_;
  const std::shared_ptr<const TlsContext> server_ = files_.Server();
  const std::shared_ptr<const TlsContext> client_ = files_.Client();
};

TEST_F(Stream, MovesBytesBothWays) {
  TlsPair pair(*server_, *client_);
  EXPECT_TRUE(pair.server.tls()->is_handshaking());
  ASSERT_EQ(pair.Handshake().error, 0);
  EXPECT_FALSE(pair.server.tls()->is_handshaking());
  EXPECT_EQ(pair.client.Send("hello").bytes, 5);
  EXPECT_EQ(Receive(pair.server), "hello");
  EXPECT_EQ(pair.server.Send("there").bytes, 5);
  EXPECT_EQ(Receive(pair.client), "there");
}

// Several records are in the socket, or decrypted, when the room is full: no further report would come.
TEST_F(Stream, SaysThatThereIsMore) {
  TlsPair pair(*server_, *client_);
  ASSERT_EQ(pair.Handshake().error, 0);
  ASSERT_EQ(pair.client.Send(std::string(40'000, 'x')).bytes, 40'000);
  pair.server.tls()->SetReadable(false);
  std::array<char, 1000> room;
  size_t received = 0;
  Socket::Transfer some;
  do {
    some = pair.server.Receive(room);
    received += some.bytes;
  } while (some.more);
  EXPECT_EQ(received, 40'000);
  EXPECT_TRUE(pair.server.Receive(room).blocked());
}

TEST_F(Stream, ReceivesNothingUntilTheNextReport) {
  TlsPair pair(*server_, *client_);
  ASSERT_EQ(pair.Handshake().error, 0);
  EXPECT_EQ(Receive(pair.server), "");
  ASSERT_EQ(pair.client.Send("x").bytes, 1);
  std::array<char, 10> room;
  EXPECT_TRUE(pair.server.Receive(room).blocked());
  EXPECT_EQ(Receive(pair.server), "x");
}

// The writer's buffer is another one each time, as that of replies may be.
TEST_F(Stream, SendsOnAfterTheSocketWasFull) {
  TlsPair pair(*server_, *client_);
  ASSERT_EQ(pair.Handshake().error, 0);
  std::string bytes(4'000'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 >> 3);
  std::string received;
  size_t sent = 0;
  int blocked = 0;
  while (received.size() < bytes.size()) {
    const std::string rest = bytes.substr(sent, 1'000'000);
    const Socket::Transfer some = pair.server.Send(rest);
    ASSERT_TRUE(some.error == 0 || some.blocked());
    blocked += some.bytes < rest.size() ? 1 : 0;
    sent += some.bytes;
    received += Receive(pair.client);
  }
  EXPECT_GT(blocked, 0);
  EXPECT_TRUE(received == bytes);
}

TEST_F(Stream, TheEndComesAfterWhatWasSent) {
  TlsPair pair(*server_, *client_);
  ASSERT_EQ(pair.Handshake().error, 0);
  pair.client.Send("last");
  pair.client.tls()->EndSending();
  pair.server.tls()->SetReadable(false);
  std::array<char, 100> room;
  const Socket::Transfer last = pair.server.Receive(room);
  EXPECT_EQ(last.bytes, 4);
  EXPECT_TRUE(last.more) << "the connection is open still: no report would say that the end is there";
  const Socket::Transfer end = pair.server.Receive(room);
  EXPECT_EQ(end.bytes + static_cast<size_t>(end.error), 0);
  EXPECT_EQ(pair.server.Send("reply").bytes, 5) << "it may still read";
  EXPECT_EQ(Receive(pair.client), "reply");
}

TEST_F(Stream, TheEndOfTheSocketIsReceived) {
  TlsPair pair(*server_, *client_);
  ASSERT_EQ(pair.Handshake().error, 0);
  pair.client.Send("last");
  pair.client.Close();
  pair.server.tls()->SetReadable(true);
  std::array<char, 100> room;
  EXPECT_EQ(pair.server.Receive(room).bytes, 4);
  const Socket::Transfer end = pair.server.Receive(room);
  EXPECT_EQ(end.bytes, 0);
  EXPECT_FALSE(end.blocked());
}

// It used to be taken for a socket without room, once the end had been received.
TEST_F(Stream, SendingToOneThatIsGoneFails) {
  TlsPair pair(*server_, *client_);
  ASSERT_EQ(pair.Handshake().error, 0);
  pair.client.Close();
  pair.server.tls()->SetReadable(true);
  std::array<char, 100> room;
  EXPECT_EQ(pair.server.Receive(room).bytes, 0);
  Socket::Transfer sent;
  for (int i = 0; i < 10 && sent.error == 0; ++i) sent = pair.server.Send("reply");
  EXPECT_NE(sent.error, 0);
  EXPECT_FALSE(sent.blocked());
}

// It used to be taken for a socket that is blocked, if it had been that before.
TEST_F(Stream, AnEndDuringTheHandshakeIsAnEnd) {
  for (const bool by_records : {true, false}) {
    TlsPair pair(*server_, *client_);
    std::array<char, 100> room;
    EXPECT_TRUE(pair.server.Receive(room).blocked());
    pair.client.tls()->Handshake();
    pair.server.tls()->SetReadable(false);
    EXPECT_TRUE(pair.server.Receive(room).blocked());
    if (by_records) Socket::Send(pair.client.descriptor(), std::string("\x16\x03\x03\x00\x50 ", 6));
    pair.client.Close();
    pair.server.tls()->SetReadable(true);
    const Socket::Transfer end = pair.server.Receive(room);
    EXPECT_EQ(end.bytes, 0);
    EXPECT_FALSE(end.blocked());
  }
}

TEST_F(Stream, WhatIsNotTlsIsSaidToBe) {
  TlsPair pair(*server_, *client_);
  Socket::Send(pair.client.descriptor(), "PING\r\nPING\r\n");
  std::array<char, 100> room;
  EXPECT_EQ(pair.server.Receive(room).error, EPROTO);
  EXPECT_THAT(pair.server.tls()->failure(), HasSubstr("what it sent is not TLS"));
  EXPECT_EQ(pair.server.Receive(room).error, EPROTO) << "it stays so";
  EXPECT_EQ(pair.server.Send("x").error, EPROTO);
}

TEST_F(Stream, ABrokenRecordIsRefused) {
  TlsPair pair(*server_, *client_);
  ASSERT_EQ(pair.Handshake().error, 0);
  std::string record("\x17\x03\x03\x00\x20", 5);
  Socket::Send(pair.client.descriptor(), record + std::string(32, 'x'));
  pair.server.tls()->SetReadable(false);
  std::array<char, 100> room;
  EXPECT_EQ(pair.server.Receive(room).error, EPROTO);
  EXPECT_EQ(pair.server.tls()->failure(), "decryption failed or bad record mac");
}

TEST_F(Stream, AClientChecksTheServer) {
  files_.Write(test::MakeCertificate());  // which the client does not know
  TlsPair pair(*files_.Server(), *client_);
  EXPECT_EQ(pair.Handshake().error, EPROTO);
  EXPECT_THAT(pair.client.tls()->failure(), HasSubstr("certificate verify failed: self-signed certificate"));
  EXPECT_THAT(pair.server.tls()->failure(), HasSubstr("alert"));
}

TEST_F(Stream, ConnectionsKeepTheirContext) {
  auto context = files_.Server();
  TlsPair pair(*context, *client_);
  ASSERT_EQ(pair.Handshake().error, 0);
  context.reset();
  EXPECT_EQ(pair.client.Send("x").bytes, 1);
  EXPECT_EQ(Receive(pair.server), "x");
}

TEST_F(Stream, OlderVersionsWorkTheSame) {
  TlsPair pair(*server_, *files_.Client("TLSv1.2"));
  ASSERT_EQ(pair.Handshake().error, 0);
  const std::string bytes(100'000, 'y');
  std::string received;
  for (size_t sent = 0; received.size() < bytes.size();) {
    sent += pair.client.Send(std::string_view(bytes).substr(sent)).bytes;
    received += Receive(pair.server, 777);
  }
  EXPECT_TRUE(received == bytes);
}

}  // namespace
}  // namespace bitsieve::server
