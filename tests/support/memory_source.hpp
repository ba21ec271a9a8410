// A recording's bytes from memory.
#pragma once

#include <algorithm>
#include <utility>

#include "common/files/byte_source.hpp"

namespace tickpath::test_support {

class MemorySource final : public files::ByteSource {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name) : bytes_(bytes) {
    name_ = std::move(name);
  }
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min(to.size(), bytes_.size() - at_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), count, to.begin());
    at_ += count;
    return count;
  }
  void rewind() override { at_ = 0; }
  std::uint64_t file_bytes_read() const override { return at_; }
  std::uint64_t file_bytes_total() const override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

// Bytes that outlive the source.
inline std::unique_ptr<files::ByteSource> open_memory(std::span<const std::byte> bytes,
                                                      std::string name) {
  return std::make_unique<MemorySource>(bytes, std::move(name));
}

}  // namespace tickpath::test_support
