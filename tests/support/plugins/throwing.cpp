// Throws in the callback that its parameter names; the C++ wrapper is what contains it.
#include <stdexcept>
#include <string>

#include "strategy/plugin.hpp"

namespace {

class Throwing final : public tickpath::Strategy {
  void start() override {
    where_ = parameter<std::string>("where");
    subscribe_all();
    if (where_ == "timer") (void)set_timer(0);  // the very first thing, and it must fire
    maybe("start");
  }
  void book_change(const BookChange& change) override {
    if (change.best_bid != 0 && open_orders(kNoInstrument, nullptr, 0) == 0)
      (void)buy(change.instrument, 100, change.best_bid);
    maybe("book_change");
  }
  void trade(const Trade& /*trade*/) override { maybe("trade"); }
  void report(const Report& /*report*/) override { maybe("report"); }
  void timer(std::uint64_t /*timer_id*/, std::uint64_t /*cookie*/) override { maybe("timer"); }
  void feed_state(Instrument /*instrument*/, std::uint8_t /*state*/) override {
    maybe("feed_state");
  }
  void gateway_state(bool /*up*/) override { maybe("gateway_state"); }
  void stop() override { maybe("stop"); }

  void maybe(const char* callback) const {
    if (where_ == callback) throw std::runtime_error("thrown in " + where_);
  }

  std::string where_;
};

}  // namespace

TICKPATH_STRATEGY(Throwing, "throwing", "1")
