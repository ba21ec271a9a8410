// Trades nothing: writes down what it was shown, so that two runs can be compared. Of every change
// and trade, in order, one number; how often the feed was not good, and how late
// it came: behind the exchange's clock, as the earliest shows that beside ours.
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "strategy/plugin.hpp"

namespace {

class Follower final : public tickpath::Strategy {
  void start() override {
    file_ = parameter<std::string>("file");
    subscribe_all();
  }
  void book_change(const BookChange& change) override {
    see(change);
    resynced_ += change.kind == TICKPATH_UPDATE_RESYNCED && change.trace_id != 0 ? 1 : 0;
    add(change.trace_id);
    add(change.exchange_time_ns);
    add(std::uint64_t{change.instrument} << 32 | change.kind);
    add(std::uint64_t{change.best_bid} << 32 | change.best_ask);
    add(std::uint64_t{change.best_bid_shares} << 32 | change.best_ask_shares);
    add(std::uint64_t{change.feed_state} << 8 | change.trading_state);
    ++changes_;
  }
  void trade(const Trade& trade) override {
    add(trade.trace_id);
    add(std::uint64_t{trade.price} << 32 | trade.shares);
    ++trades_;
  }
  void feed_state(Instrument, std::uint8_t state) override {
    if (last_ != 0 && state == TICKPATH_FEED_STALE) ++stale_;
  }
  void stop() override {
    std::FILE* const out = std::fopen(file_.c_str(), "w");
    if (out == nullptr) return log("cannot write " + file_, TICKPATH_LOG_ERROR);
    std::sort(ages_ns_.begin(), ages_ns_.end());
    std::fprintf(out,
                 "{\"digest\": \"%016" PRIx64 "\", \"changes\": %" PRIu64 ", \"trades\": %" PRIu64
                 ", \"backwards\": %" PRIu64 ", \"resynced\": %" PRIu64 ", \"stale\": %" PRIu64
                 ", \"late_ns\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]}\n",
                 digest_, changes_, trades_, backwards_, resynced_, stale_, late_ns(0.5),
                 late_ns(0.99), late_ns(0.999), late_ns(1));
    std::fclose(out);
  }

  void see(const BookChange& change) {
    backwards_ += change.trace_id < last_ ? 1 : 0;
    last_ = change.trace_id;
    if (change.kind != TICKPATH_UPDATE_RESYNCED)
      ages_ns_.push_back(now_ns() - change.exchange_time_ns);
  }
  std::uint64_t late_ns(double quantile) const {
    if (ages_ns_.empty()) return 0;
    const auto last = static_cast<double>(ages_ns_.size() - 1);
    return ages_ns_[static_cast<std::size_t>(quantile * last)] - ages_ns_.front();
  }
  // FNV-1a, eight bytes at a time.
  void add(std::uint64_t word) { digest_ = (digest_ ^ word) * 0x0000'0100'0000'01b3; }

  std::string file_;
  std::uint64_t digest_ = 0xcbf2'9ce4'8422'2325;
  std::uint64_t changes_ = 0, trades_ = 0, backwards_ = 0, resynced_ = 0, stale_ = 0;
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> ages_ns_;
};

}  // namespace

TICKPATH_STRATEGY(Follower, "follower", "1.0")
