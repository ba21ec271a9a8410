// A mailbox: what a person decides about exceptions and trades, from the control thread to the
// datapath thread.
#pragma once

#include "common/base/spsc_ring.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/gateway.hpp"
#include "oeg/pair.hpp"

namespace tickpath::oeg {

class Desk {
 public:
  // ---- control thread

  // A person has cleared an exception. Its symbol is held by one less, and the standby learns of
  // it. False: try again in a moment.
  bool tell_cleared(const ClearedException& cleared) noexcept { return cleared_.try_push(cleared); }
  // A person books a trade. False: try again in a moment; else its result comes next.
  bool book_by_hand(const ManualTrade& trade) noexcept { return trades_.try_push(trade); }
  bool pop_result(ManualResult& result) noexcept { return results_.try_pop(result); }

  // ---- datapath thread
  // pair: nullptr: there is none.
  void take(Gateway& gateway, Pair* pair) noexcept {
    ClearedException cleared;
    while (cleared_.try_pop(cleared)) {
      gateway.held_symbols().release(cleared.symbol);
      if (pair != nullptr) pair->log().tell_cleared(cleared);
    }
    ManualTrade trade;
    while (trades_.try_pop(trade))
      [[unlikely]] (void) results_.try_push(gateway.book_by_hand(trade));
  }

 private:
  SpscRing<ClearedException> cleared_{256};
  SpscRing<ManualTrade> trades_{4};  // one at a time
  SpscRing<ManualResult> results_{4};
};

}  // namespace tickpath::oeg
