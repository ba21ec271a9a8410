// When in the market something of a run was: the feed's time of day for the machine's time.
#pragma once

#include <cstdint>
#include <vector>

namespace tickpath::report {

// Between two moments of which both times are known, time passes evenly. Before the first and after
// the last one it passes at the pace of the whole run. A program knows the market's time late,
// never early. So the least late one of each tenth of a second counts, and those beside a pause.
// Tools only; immutable once built.
class MarketClock {
 public:
  struct Known {
    std::int64_t realtime_ns = 0;  // CLOCK_REALTIME
    std::int64_t market_ns = 0;    // since midnight, by the feed
  };

  // known: in any order. A time of the market that falls by half a day is of the next one; one that
  // falls by less is left out. start_ns: where time begins if fewer than two are known.
  MarketClock(std::vector<Known> known, std::int64_t start_ns);

  // False: times are seconds since start_ns, and the page says so.
  bool is_market_time() const noexcept { return points_.size() >= 2; }
  // Seconds since midnight.
  double at(std::int64_t realtime_ns) const noexcept;
  std::int64_t realtime_ns(double market_s) const noexcept;

 private:
  std::vector<Known> points_;  // both times ascend
  std::int64_t start_ns_;
};

}  // namespace tickpath::report
