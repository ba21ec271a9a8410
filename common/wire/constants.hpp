// Constants of the wire protocol between tickpath programs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tickpath::wire {

static_assert(std::endian::native == std::endian::little, "wire structs are little-endian");

inline constexpr std::uint32_t kWireVersion = 14;

// "No instrument" and "no price". A price of zero never trades.
inline constexpr std::uint32_t kNoInstrument = 0xffff'ffff;

// Payload of a ring slot: one 64-byte line less its 8-byte sequence word (common/link).
inline constexpr std::size_t kSlotPayloadBytes = 56;

}  // namespace tickpath::wire
