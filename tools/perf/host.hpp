// What a figure needs to know about the machine under it.
#pragma once

#include <cstddef>

namespace tickpath::rdma::perf {

// The floor of bandwidth on one host: memcpy() of as many bytes from one buffer of this process to
// another, again and again, for some milliseconds.
double memcpy_bytes_per_s(std::size_t size_bytes);

}  // namespace tickpath::rdma::perf
