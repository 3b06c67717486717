#include "core/families/expiring/expiring_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/families/expiring/expiring_table.h"
#include "core/filter/image_header.h"
#include "tests/support/expiring_fixture.h"

namespace bitsieve::core {
namespace {

using testing::HasSubstr;

class ExpiringCodecTest : public testing::Test, protected test::ExpiringFixture {
 protected:
  ExpiringCodecTest() {
    filter_ = Make(0.01, 1000, 2);
    Add(*filter_, 0, 2000);
    const auto image = filter_->Capture();
    body_.resize(image->body_bytes());
    EXPECT_TRUE(image->Read(0, body_));
    header_ = *DecodeExpiringHeader(OpenHeader(image->header())->fields);
  }

  std::string ErrorOf(const ExpiringHeader& header, std::span<const std::byte> body) {
    const auto filter = DecodeFilter(EncodeExpiringHeader(header), body, budget, clock);
    return filter ? "" : filter.error().message;
  }
  // Returns the error of the header after a change.
  std::string ErrorAfter(const std::function<void(ExpiringHeader&)>& change) {
    ExpiringHeader header = header_;
    change(header);
    return ErrorOf(header, body_);
  }
  // Returns the error of the body after a change of its bytes, which are those of the oldest table first.
  std::string ErrorOfBody(const std::function<void(std::span<std::byte>)>& change) {
    std::vector<std::byte> body = body_;
    change(body);
    return ErrorOf(header_, body);
  }

  std::unique_ptr<Filter> filter_;
  ExpiringHeader header_;
  std::vector<std::byte> body_;
};

TEST_F(ExpiringCodecTest, AHeaderSaysWhatTheFilterIs) {
  EXPECT_EQ(ErrorAfter([](ExpiringHeader&) {}), "");
  EXPECT_EQ(header_.params, filter_->params());
  EXPECT_EQ(header_.newest_ms, static_cast<uint64_t>(clock.now_ms.load()));
  EXPECT_GT(header_.tables.size(), 1);
  EXPECT_EQ(header_.Summary().items, filter_->ItemCount());
  EXPECT_EQ(header_.Summary().capacity, filter_->Info().capacity);
}

TEST_F(ExpiringCodecTest, EachImpossibleFieldOfAHeaderIsNamed) {
  EXPECT_THAT(ErrorAfter([](auto& header) { SetTtlMs(header.params, 0); }), HasSubstr("needs a time to live"));
  EXPECT_THAT(ErrorAfter([](auto& header) { header.newest_ms = UINT64_MAX; }), HasSubstr("time of the latest change"));
  EXPECT_THAT(ErrorAfter([](auto& header) { header.tables[1].items = UINT32_MAX; }), HasSubstr("table 1 holds more"));
  EXPECT_THAT(ErrorAfter([](auto& header) { header.tables.clear(); }), HasSubstr("number of tables"));
  EXPECT_THAT(ErrorAfter([](auto& header) { --header.tables[0].items; }), HasSubstr("differs from the header"));
  EXPECT_THAT(ErrorAfter([](auto& header) { header.newest_ms = 0; }), HasSubstr("has not begun"));
}

TEST_F(ExpiringCodecTest, EachImpossibleByteOfABodyIsNamed) {
  const CuckooShape& shape = header_.tables[0].shape;
  const uint32_t slot_bits = shape.fingerprint_bits + 4;
  const auto set_bit = [](std::span<std::byte> body, uint64_t bit) {
    body[bit / 8] |= static_cast<std::byte>(1 << bit % 8);
  };
  const uint64_t spare_bit = shape.Slots() * slot_bits + 3;
  EXPECT_THAT(ErrorOfBody([&](auto body) { set_bit(body, spare_bit); }), HasSubstr("after the last slot"));
  const uint64_t table_bytes = ExpiringTable::SizeBytes(shape, EpochsOf(header_.params));
  EXPECT_THAT(ErrorOfBody([&](auto body) { set_bit(body, table_bytes * 8 - 1); }), HasSubstr("after the last slot"));
  const uint64_t tag_byte = ExpiringTable::TagsOffset(shape, EpochsOf(header_.params));
  EXPECT_THAT(ErrorOfBody([&](auto body) { body[tag_byte + 7] = std::byte{0x7F}; }), HasSubstr("has not begun"));
  // The first empty slot gets an epoch, or any live slot the one after the last possible.
  PackedSlots slots(body_.data(), slot_bits);
  uint64_t empty = 0, live = 0;
  while (slots.Get(empty) != 0) ++empty;
  while (slots.Get(live) == 0) ++live;
  EXPECT_THAT(ErrorOfBody([&](auto body) { set_bit(body, (empty + 1) * slot_bits - 1); }), HasSubstr("empty slot"));
  EXPECT_THAT(ErrorOfBody([&](auto body) {
                const uint64_t fingerprint = slots.Get(live) & ((uint64_t{1} << shape.fingerprint_bits) - 1);
                const uint64_t number = (EpochsOf(header_.params).At(header_.newest_ms) + 15) % 16;
                PackedSlots(body.data(), slot_bits).Set(live, fingerprint | number << shape.fingerprint_bits);
              }),
              HasSubstr("beyond the time to live"));
}

}  // namespace
}  // namespace bitsieve::core
