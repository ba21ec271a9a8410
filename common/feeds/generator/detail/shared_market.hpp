// What the venues of a market have in common (common/feeds/generator/venues.hpp): the moves of each
// symbol's value, and the halts. Each venue's generator has one of its own, and all say the same:
// everything is drawn from the market's seed, in an order that no venue's flow has a part in.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "common/base/random.hpp"
#include "common/feeds/generator/venues.hpp"

namespace tickpath::itch::detail {

inline constexpr std::uint32_t kLowestTicks = 100;  // one dollar: below, ticks are smaller
// A part of the day; a halt that begins later would not end today.
inline constexpr double kLastHalt = 0.9;

// A venue learns that a symbol is worth something else.
struct ValueMove {
  std::uint64_t due_ns;
  std::uint32_t symbol;
  std::uint32_t ticks;  // the new value
};

struct PlannedHalt {
  std::uint64_t due_ns;
  std::uint32_t symbol;
};

class SharedMarket {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  // `market` outlives it. `activity`: of the symbols, any weights.
  SharedMarket(const VenueMarket& market, std::uint32_t venue, std::span<const double> activity);

  // The value of a symbol before the day's first move.
  std::uint32_t ticks_at_start(std::uint32_t symbol) const noexcept {
    return streams_[symbol].ticks_at_start;
  }
  // A day whose continuous trading begins at `open_ns` and ends at `end_ns`.
  void begin_day(std::uint64_t open_ns, std::uint64_t end_ns);

  // When this venue learns of the next move, and of which; kNever: of none today.
  std::uint64_t move_due_ns() const noexcept {
    return waiting_.empty() ? kNever : waiting_.top().due_ns;
  }
  ValueMove take_move();
  std::uint64_t halt_due_ns() const noexcept {
    return next_halt_ == halts_.size() ? kNever : halts_[next_halt_].due_ns;
  }
  PlannedHalt take_halt() noexcept { return halts_[next_halt_++]; }

 private:
  struct Stream {
    Random random;
    double moves_per_second;
    double at_s = 0;           // of the last move, as it happens
    std::uint64_t due_ns = 0;  // as this venue learns of it
    std::uint32_t ticks = 0;   // after it
    std::uint32_t anchor_ticks = 0;
    std::uint32_t gap_ticks = 1;  // between bid and ask, as makers like it
    std::uint32_t ticks_at_start = 0;
  };
  struct Later {
    bool operator()(const ValueMove& a, const ValueMove& b) const noexcept {
      return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.symbol > b.symbol;
    }
  };

  bool advance(Stream& stream);
  void step(Stream& stream);
  double lag_ns(Random& random);
  void plan_halts();

  const VenueMarket& market_;
  std::uint32_t venue_;
  AliasTable activity_, leaders_;
  Random halts_random_;
  std::vector<Stream> streams_;
  std::vector<double> lags_ns_;
  std::priority_queue<ValueMove, std::vector<ValueMove>, Later> waiting_;
  std::vector<PlannedHalt> halts_;
  std::size_t next_halt_ = 0;
  double from_s_ = 0, to_s_ = 0;
};

// Between the best bid and the best ask of makers that like such a spread: their quotes stand
// half of it below the value and above the tick behind it.
constexpr std::uint32_t quoted_gap_ticks(std::uint32_t spread_ticks) noexcept {
  return 1 + 2 * (spread_ticks / 2);
}

// What a symbol is worth at first, 5 to 500 dollars, and the spread that its makers like, in cents.
std::uint32_t draw_first_value(Random& random) noexcept;
std::uint32_t liked_spread(std::uint32_t value_ticks, double quiet) noexcept;

}  // namespace tickpath::itch::detail
