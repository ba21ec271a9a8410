// oeg -> risk (READ, COMPARE_SWAP): what the two of a pair agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/wire/leadership.hpp"

namespace tickpath::wire {

//  0 word | 8 incarnation | 16 newcomer | 24 reserved  (64 bytes)
//
// A witness never writes the word; the pair changes it by COMPARE_SWAP. One that was restarted has
// the word that it saved last, which may not be the newest: it is known as another by its
// incarnation.
struct WitnessBlock {
  std::uint64_t word;         // Leadership::word()
  std::uint64_t incarnation;  // not 0, drawn at each start
  // 1 once the oeg at place 2 has said, to this life of the witness, that it remembers no leader.
  std::uint64_t newcomer;
  std::uint64_t reserved[5];
};
static_assert(std::is_trivially_copyable_v<WitnessBlock>);
static_assert(sizeof(WitnessBlock) == 64 && offsetof(WitnessBlock, incarnation) == 8 &&
              offsetof(WitnessBlock, newcomer) == 16);

}  // namespace tickpath::wire
