// Whether a request may go to the venue: its form, its ids, the limits, and the conditions for
// trading at this moment. Datapath thread.
#pragma once

#include <cstdint>

#include "common/base/cpu.hpp"
#include "common/fix/session.hpp"
#include "common/wire/control_block.hpp"
#include "common/wire/order_messages.hpp"
#include "oeg/books.hpp"
#include "oeg/held_symbols.hpp"
#include "oeg/ports.hpp"
#include "oeg/risk_checks.hpp"

namespace tickpath::oeg {

class OrderChecks {
 public:
  OrderChecks(const GatewayOptions& options, Books& books, const HeldSymbols& held,
              const VenuePort& venue, const JournalPort& journal, EventPort& events);

  // The checks of a request, alone: what tests and the benchmark measure. Takes a token of the rate
  // limit when it comes so far.
  trading::RejectReason check_new(StrategySlot& slot, const wire::OrderRequest& request,
                                  std::uint32_t& row) noexcept;
  trading::RejectReason check_change(StrategySlot& slot, const wire::OrderRequest& request,
                                     Order*& order) noexcept;
  // Whether what the venue asks for once more would be sent now.
  trading::RejectReason check_resend(const Order& order, const fix::Resend& resend) noexcept;
  // Why every new order of the strategy is refused now; kNone: none is for that.
  trading::RejectReason refuses_all(const StrategySlot& slot) const noexcept;
  // The order's request has had no answer for venue.answer_max.
  bool is_overdue(const Order& order) const noexcept;

  void set_control_block(const wire::ControlBlock& block) noexcept;
  const wire::ControlBlock& control_block() const noexcept { return block_; }
  // The configured ones, or those of the control block where they are stricter.
  const Limits& limits() const noexcept { return limits_; }
  void set_risk_alive(bool alive) noexcept { conditions_.risk_alive = alive; }
  // No new order or replacement from now on.
  void stop_accepting() noexcept { conditions_.accepting = false; }
  // How many positions are valued anew at a time, and after how many turns.
  static constexpr std::uint32_t kValueEvery = 16;
  // Each turn: whether the venue is logged on.
  void turn(bool up) noexcept {
    if (++turns_ % kValueEvery == 0) value_positions();
    if (up == was_up_) [[likely]]
      return;
    was_up_ = up;
    up_since_tsc_ = tsc_now().value;
  }

 private:
  void value_positions() noexcept;
  bool take_id(StrategySlot& slot, std::uint64_t order_id) noexcept;
  Conditions conditions_now() const noexcept;
  trading::RejectReason check_second_cancel(const wire::OrderRequest& request,
                                            const Order& order) const noexcept;

  const GatewayOptions& options_;
  const Instruments& instruments_;
  Ledger& ledger_;
  const HeldSymbols& held_;
  const VenuePort& venue_;
  const JournalPort& journal_;
  EventPort& events_;
  const std::uint64_t hz_;
  const std::uint64_t answer_ticks_;
  Limits limits_;
  wire::ControlBlock block_{};
  Conditions conditions_;           // but for what the venue says each time: conditions_now()
  std::uint64_t up_since_tsc_ = 0;  // the last logon that turn() was told of
  std::uint32_t turns_ = 0;
  bool was_up_ = false;
};

}  // namespace tickpath::oeg
