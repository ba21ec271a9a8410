// Buys a share of each symbol on each day that it is offered, at the best price.
#include <array>
#include <cstdint>

#include "strategy/plugin.hpp"

namespace {

class OneShareADay final : public tickpath::Strategy {
  struct Row {
    std::uint64_t bought_on = 0;
    std::uint64_t asked_on = 0;  // an order is on its way; 0: none
  };

  void start() override { subscribe_all(); }
  void book_change(const BookChange& change) override {
    // Times of day begin anew with each day.
    if (change.exchange_time_ns != 0 && change.exchange_time_ns < last_ns_) ++day_;
    if (change.exchange_time_ns != 0) last_ns_ = change.exchange_time_ns;
    if (change.instrument >= rows_.size() || change.best_ask == 0) return;
    Row& row = rows_[change.instrument];
    if (row.bought_on == day_ || row.asked_on != 0) return;
    if (change.feed_state != TICKPATH_FEED_GOOD) return;
    if (buy(change.instrument, 1, change.best_ask, kImmediateOrCancel)) row.asked_on = day_;
  }
  void report(const Report& report) override {
    if (report.instrument >= rows_.size() || report.kind == TICKPATH_REPORT_ACCEPTED) return;
    Row& row = rows_[report.instrument];
    if (report.kind == TICKPATH_REPORT_FILL) row.bought_on = row.asked_on;
    row.asked_on = 0;
  }

  std::array<Row, 64> rows_{};
  std::uint64_t day_ = 1;
  std::uint64_t last_ns_ = 0;
};

}  // namespace

TICKPATH_STRATEGY(OneShareADay, "one_share_a_day", "1.0")
