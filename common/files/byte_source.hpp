// Files of bytes, plain, gzip (RFC 1952) or Zstandard (RFC 8878), behind one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "common/base/error.hpp"

namespace tickpath::files {

// A recording that cannot be opened, recognised or written: names the file and what to do.
class RecordingError : public Error {
 public:
  using Error::Error;
};

// One thread at a time; may allocate and block.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills as much of `to` as the file has; 0 at its end, or at damage, which error() then tells.
  virtual std::size_t read(std::span<std::byte> to) = 0;
  // "unexpected end of compressed data", "incorrect data check", or the errno text.
  const std::string& error() const noexcept { return error_; }
  // Starts over from the first byte.
  virtual void rewind() = 0;

  virtual std::uint64_t file_bytes_read() const = 0;
  virtual std::uint64_t file_bytes_total() const = 0;
  // Bytes behind gzip's last member that are none, and not zero: left out. Known at the end.
  std::uint64_t trailing_bytes() const noexcept { return trailing_bytes_; }
  // How messages name the file.
  const std::string& name() const noexcept { return name_; }

 protected:
  std::string error_;
  std::string name_;
  std::uint64_t trailing_bytes_ = 0;
};

// Opens a file, decompressing it if it begins as gzip or Zstandard do. Throws RecordingError.
std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);

class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;
  // Throws RecordingError.
  virtual void write(std::span<const std::byte> from) = 0;
  virtual void close() = 0;
};

// Creates or truncates a file, compressing when its name ends in .gz or .zst. Throws
// RecordingError.
std::unique_ptr<ByteSink> create_file(const std::filesystem::path& path);

}  // namespace tickpath::files
