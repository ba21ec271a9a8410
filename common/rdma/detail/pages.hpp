// Sizes of pages, for what is allocated registered.
#pragma once

#include <cstddef>

namespace tickpath::rdma::detail {

inline constexpr std::size_t kPageBytes = 4096;
// The huge page size that x86-64 kernels use by default. A region rounds up to it only if at least
// half of the last page is used, so that small regions do not waste 2 MiB each.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

constexpr std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace tickpath::rdma::detail
