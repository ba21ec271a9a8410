// For the parts of the matcher that walk the recorded book.
#pragma once

#include "sim/matching/matcher.hpp"

namespace tickpath::sim {

struct Matcher::Cursor {
  Locate locate;
  Side side;
  std::uint32_t rank = 0;   // of the next level to open
  std::uint32_t price = 0;  // of the level that is open
  book::Handle handle = book::kNoOrder;
};

}  // namespace tickpath::sim
