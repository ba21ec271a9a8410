// What ties a data connection to the authenticated set-up that it belongs to.
#pragma once

#include <array>
#include <cstdint>

namespace tickpath::rdma::detail {

// 128 random bits, made by the listener for one connection and worthless after it.
using ConnectionToken = std::array<std::uint8_t, 16>;

// From the kernel's random source. Throws SetupError{kSystem}.
ConnectionToken random_token();

}  // namespace tickpath::rdma::detail
