// A fixed array on huge pages where the kernel gives them, touched before first use.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tickpath {

// Zeroed pages, 2 MiB aligned, MADV_HUGEPAGE, every page written once (but see UntouchedPages).
// Throws Error (out of memory) naming the size.
void* map_huge(std::size_t size_bytes, const char* what);
void unmap_huge(void* address, std::size_t size_bytes) noexcept;

// Tables of tens of megabytes are read at random places: with 4 KiB pages nearly every access would
// also miss the TLB, which costs as much as the cache miss itself.
template <class T>
class HugeArray {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

 public:
  // The elements are all bits zero.
  HugeArray(std::size_t count, const char* what)
      : data_(static_cast<T*>(map_huge(count * sizeof(T), what))), count_(count) {}
  ~HugeArray() {
    if (data_ != nullptr) unmap_huge(data_, count_ * sizeof(T));
  }
  HugeArray(HugeArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  HugeArray& operator=(HugeArray&&) = delete;

  T& operator[](std::size_t index) noexcept { return data_[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return count_; }

 private:
  T* data_;
  std::size_t count_;
};

}  // namespace tickpath
