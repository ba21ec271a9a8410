// Trades nothing: says whether its positions were known when the market's first event came.
#include "strategy/plugin.hpp"

namespace {

class FirstEvent final : public tickpath::Strategy {
  void start() override { subscribe_all(); }
  void gateway_state(bool up) override { up_ = up; }
  void book_change(const BookChange& /*change*/) override {
    if (!seen_)
      log(up_ ? "the first event found the positions known" : "the first event came without them");
    seen_ = true;
  }

  bool up_ = false;
  bool seen_ = false;
};

}  // namespace

TICKPATH_STRATEGY(FirstEvent, "first_event", "1.0")
