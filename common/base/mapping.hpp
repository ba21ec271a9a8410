// Owner of a file's bytes, mapped and shared with whoever else maps or reads the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tickpath {

class Mapping {
 public:
  // kWriteTouched: every page is there when the constructor returns.
  enum class Access : std::uint8_t { kRead, kWrite, kWriteTouched };

  Mapping() noexcept = default;
  // The first `bytes` of an open file, which may be closed afterwards. what: of the file, for the
  // text of an error. Throws SystemError.
  Mapping(int file, std::size_t bytes, Access access, const std::string& what);
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  template <class T>
  T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(static_cast<std::byte*>(data_) + offset);
  }
  std::size_t size() const noexcept { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Room on the disk for the first `bytes`, now: else a full disk raises SIGBUS at a later store. The
// system's error; 0: it is there.
int reserve_on_disk(int file, std::size_t bytes) noexcept;

}  // namespace tickpath
