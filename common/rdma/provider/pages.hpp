// Memory for what is allocated registered: sizes of pages, and mappings of them.
#pragma once

#include <cstddef>
#include <string>

namespace tickpath::rdma::detail {

inline constexpr std::size_t kPageBytes = 4096;
// The huge page size that x86-64 kernels use by default. A region rounds up to it only if at least
// half of the last page is used, so that small regions do not waste 2 MiB each.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

constexpr std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

// An anonymous mapping. Shared, not private: a fork would else move the pages of the parent away
// from what the device was told (ibv_fork_init(3)).
class AnonymousPages {
 public:
  AnonymousPages(std::size_t size_bytes, const std::string& name);  // throws SetupError{kNoMemory}
  ~AnonymousPages();
  AnonymousPages(const AnonymousPages&) = delete;
  AnonymousPages& operator=(const AnonymousPages&) = delete;
  std::byte* data() const noexcept { return data_; }
  bool huge() const noexcept { return huge_; }
  std::size_t mapped_bytes() const noexcept { return mapped_bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  bool huge_ = false;
};

}  // namespace tickpath::rdma::detail
