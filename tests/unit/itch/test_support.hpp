// What the ITCH tests share.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/recordings.hpp"

namespace tickpath::itch::test {

using Bytes = std::vector<std::byte>;

inline Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

inline std::string to_hex(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte b : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned>(b) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned>(b) & 15];
  }
  return hex;
}

inline Bytes to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

template <class Message>
Bytes encoded(const Message& message) {
  std::array<std::byte, kMaxMessageBytes> buffer;
  const std::size_t length = encode(message, buffer.data());
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length)};
}

// A copy that ends where a page ends, with an inaccessible page behind: a decoder that reads one
// byte too many crashes, in every build type.
class GuardedCopy {
 public:
  explicit GuardedCopy(std::span<const std::byte> bytes) : size_(bytes.size()) {
    page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    readable_ = (size_ / page_ + 1) * page_;
    base_ = static_cast<std::byte*>(::mmap(nullptr, readable_ + page_, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base_ + readable_, page_, PROT_NONE);
    if (size_ > 0) std::memcpy(base_ + readable_ - size_, bytes.data(), size_);
  }
  ~GuardedCopy() { ::munmap(base_, readable_ + page_); }
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;

  std::span<const std::byte> bytes() const { return {base_ + readable_ - size_, size_}; }

 private:
  std::size_t size_;
  std::size_t page_;
  std::size_t readable_;
  std::byte* base_;
};

// Decodes and encodes again; the answer of decode() is in `status`.
inline Bytes decoded_and_encoded(std::span<const std::byte> message, DecodeStatus& status) {
  Bytes again;
  status = decode(message, [&again](const auto& m) { again = encoded(m); });
  return again;
}

inline void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline Bytes read_file(const std::filesystem::path& path) {
  Bytes bytes(std::filesystem::file_size(path));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

struct Collected {
  std::vector<Bytes> messages;
  std::vector<std::uint64_t> times;
  std::map<char, std::uint64_t> counts;
  ReadStatus status = ReadStatus::kEnd;
};

inline Collected collect(RecordingReader& reader) {
  Collected all;
  RecordedMessage message;
  while ((all.status = reader.next(message)) == ReadStatus::kMessage) {
    all.messages.emplace_back(message.bytes.begin(), message.bytes.end());
    all.times.push_back(message.timestamp_ns);
    ++all.counts[static_cast<char>(message.bytes[0])];
  }
  return all;
}

using test_support::data_folder;
using TemporaryFolder = test_support::Folder;

}  // namespace tickpath::itch::test
