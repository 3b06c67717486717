// copied_image.h: the image of a filter so small that it is copied when the image is taken. Thread-compatible.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "core/filter/filter.h"

namespace bitsieve::core {

class CopiedImage final : public FilterImage {
 public:
  CopiedImage(std::string header, std::string body) : header_(std::move(header)), body_(std::move(body)) {}

  const std::string& header() const override { return header_; }
  uint64_t body_bytes() const override { return body_.size(); }
  Status Read(uint64_t offset, std::span<std::byte> out) override {
    std::memcpy(out.data(), body_.data() + offset, out.size());
    return {};
  }

 private:
  const std::string header_;
  const std::string body_;
};

}  // namespace bitsieve::core
