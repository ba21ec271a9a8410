// The keys of pair.*: which of a pair this oeg is, and how long it waits for its standby.
#pragma once

#include <cstdint>
#include <string>

namespace tickpath::oeg {

struct PairOptions {
  std::uint8_t place = 0;       // 1 or 2; 0: no pair
  std::string peer;             // endpoint of the other oeg
  std::string witness;          // of risk
  std::string witness_standby;  // of the second risk; empty: there is none
  std::string file = "{run_dir}/{name}.pair";
  std::uint32_t log_bytes = 1u << 22;
  bool trade_alone = true;
  // A standby is lost that confirms nothing for so long, or that takes nothing for so long while
  // its log is full.
  std::int64_t confirm_max_ns = 35'000'000;
};

}  // namespace tickpath::oeg
