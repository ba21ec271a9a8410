// The words of the matching core: what goes in, what comes out, what it counts.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/counter.hpp"
#include "common/base/units.hpp"
#include "common/book/types.hpp"
#include "common/trading/order_terms.hpp"
#include "common/wire/constants.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/order_state.hpp"

namespace tickpath::sim {

using book::Locate;
using trading::OrderState;
using trading::OrderType;
using trading::TimeInForce;
using wire::ReportKind;

// The values are those of no protocol.
enum class CrossKind : std::uint8_t {
  kOpening,
  kClosing,
  kHalt,  // trading resumes after a halt
};

// What a cross of ours came to.
struct CrossResult {
  std::uint32_t price = 0;  // 0: nothing traded
  std::uint64_t shares = 0;
};

// Largest order that is taken, in shares: the limit of Nasdaq's OUCH 5.0 (2.1 "Enter Order",
// Quantity: less than 1,000,000).
inline constexpr std::uint32_t kOrderSharesMax = 999'999;

// Largest limit price, Price(4): $199,999.9900, as in OUCH 5.0 (appendix, "Data Types").
inline constexpr std::int64_t kOrderPriceMax = 1'999'999'900;

// The party behind an order: of one FIX session the strategy that its order ids carry, or an
// account, numbered by the gateway. Two orders of one party never trade with each other.
struct Party {
  std::uint8_t session = 0;
  std::uint8_t strategy = 0;  // 0: the session itself
  std::uint8_t route = 0;     // by which its reports go back (orders/routes.hpp); 0: directly
  // Whatever way its messages come.
  friend bool operator==(const Party& a, const Party& b) noexcept {
    return a.session == b.session && a.strategy == b.strategy;
  }
};

struct NewOrder {
  std::uint64_t order_id = 0;
  Price price{};                               // limit, stop limit; pegged: the cap, 0 for none
  Price stop_price{};                          // stop, stop limit
  std::uint32_t locate = wire::kNoInstrument;  // kNoInstrument: the symbol is unknown
  std::uint32_t shares = 0;
  std::uint32_t display_shares = 0;  // shown at a time; 0: all of it
  std::uint32_t minimum_shares = 0;  // immediate or cancel: trades at least these or nothing
  Party party{};
  Side side = Side::kBuy;
  OrderType type = OrderType::kLimit;
  TimeInForce time_in_force = TimeInForce::kDay;
  bool post_only = false;  // refused when it would trade on arrival
};

struct CancelOrder {
  std::uint64_t order_id = 0;         // of this request
  std::uint64_t target_order_id = 0;  // the order's id so far
  std::uint32_t locate = wire::kNoInstrument;
  Party party{};
  Side side = Side::kBuy;
};

struct ReplaceOrder {
  std::uint64_t order_id = 0;         // the order's id from the replacement on
  std::uint64_t target_order_id = 0;  // its id so far
  Price price{};
  Price stop_price{};  // of a stop order that waits
  std::uint32_t locate = wire::kNoInstrument;
  std::uint32_t shares = 0;  // the new total, what is filled included
  Party party{};
  Side side = Side::kBuy;
  OrderType type = OrderType::kLimit;  // the order's own; a triggered stop limit's: limit
};

// Asks for an order's state by its current id.
struct StatusQuery {
  std::uint64_t order_id = 0;
  std::uint32_t locate = wire::kNoInstrument;
  Party party{};
  Side side = Side::kBuy;
};

// Cancels every order of a session, or those of one strategy, instrument or side.
struct MassCancel {  // or, in a mass status request, the orders that are told of
  std::uint8_t session = 0;
  std::uint8_t strategy = 0;                   // 0: every one
  std::uint32_t locate = wire::kNoInstrument;  // kNoInstrument: every one
  bool buys = true;
  bool sells = true;
};

// Why a request was refused, or why an order ended without its owner's wish.
enum class Reason : std::uint8_t {
  kNone = 0,
  kUnknownSymbol,
  kDuplicateId,
  kNotTrading,    // halted, paused or quotation only, and the rule is to refuse
  kClosed,        // the session is over
  kQuantity,      // zero, or above kOrderSharesMax
  kPrice,         // zero, or above kOrderPriceMax
  kUnsupported,   // order type, side or time in force
  kCapacity,      // tables full
  kUnknownOrder,  // cancel, replace: no such order of this party
  kTooLate,       // cancel, replace: the order is done
  kMismatch,      // cancel, replace: another symbol or side than the order's
  kBelowFilled,   // replace: the new total is less than what is filled
  kRemainder,     // expired: an IOC or market order, and nothing more to trade with
  kSelfMatch,     // expired: next in the book stood an order of the same party
  kSessionEnd,    // expired: the end of the day
  kStopPrice,     // zero, or above kOrderPriceMax
  kDisplay,       // display quantity below the venue's least
  kPostOnly,      // would trade on arrival
  kMinimum,       // expired: fewer shares than its minimum (or than all of it) could trade
  kCombination,   // instructions that do not go with its type or with each other
  kPriceBand,     // its limit is outside the price bands
  kCrossOver,     // the cross that it is for is over
  kRate,          // more messages than the session may send
  kPriceTick,     // its limit is not on the tick
  kStopTick,      // its stop price is not
  kAccounts,      // more accounts than a session may have
  kTerms,         // terms that are valid FIX, and that the venue does not have
};
inline constexpr std::size_t kReasonCount = static_cast<std::size_t>(Reason::kTerms) + 1;
std::string_view describe(Reason reason) noexcept;  // a line for a person, at most 80 characters

// Where a fill's counterparty came from. Each rule is told in sim/DESIGN.md.
enum class FillSource : std::uint8_t {
  kNone = 0,
  kDisplayed,     // we took a recorded resting order
  kExecution,     // a recorded execution behind us; we stood first
  kCrossingAdd,   // a recorded order arrived at our price or through it
  kTradeThrough,  // a recorded hidden trade at a worse price than ours
  kLive,          // another of our orders
  kCross,         // an opening, closing or reopening cross
};
inline constexpr std::size_t kFillSourceCount = static_cast<std::size_t>(FillSource::kCross) + 1;
std::string_view name(FillSource source) noexcept;

// What a fill's order did to the book.
enum class Liquidity : std::uint8_t {
  kNone = 0,
  kAdded,    // it stood there
  kRemoved,  // it took what stood there
  kCross,    // it traded in an auction
};
inline constexpr std::size_t kLiquidityCount = static_cast<std::size_t>(Liquidity::kCross) + 1;

// What the core has to say about an order: at once, in order, on the caller's thread. kReplaced
// with kSelfMatch is nobody's request: the order lost shares to self-match prevention.
struct Report {
  std::uint64_t order_id = 0;           // the request answered; fill, expired: the order's id
  std::uint64_t target_order_id = 0;    // canceled, replaced, their rejects: the id before
  std::uint64_t exchange_order_id = 0;  // 0: no such order (a cancel of something unknown)
  std::uint64_t execution_id = 0;       // unique for ever
  std::int64_t filled_value = 0;        // sum of price times shares over all fills, 1/10,000
  std::uint32_t locate = wire::kNoInstrument;
  std::uint32_t shares = 0;  // the order's total
  std::uint32_t limit_price = 0;
  std::uint32_t last_shares = 0;
  std::uint32_t last_price = 0;
  std::uint32_t leaves_shares = 0;
  std::uint32_t cumulative_shares = 0;
  Party party{};
  Side side = Side::kBuy;
  ReportKind kind = ReportKind::kAccepted;
  OrderState state = OrderState::kPendingNew;
  Reason reason = Reason::kNone;
  FillSource source = FillSource::kNone;
  Liquidity liquidity = Liquidity::kNone;
};

// Takes the reports. Must not call back into the core.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual void on_report(const Report& report) noexcept = 0;
};

// What happens when an order would trade with one of the same party.
enum class SelfMatchRule : std::uint8_t {
  kCancelNewest,  // the arriving order expires with what is left of it
  kCancelOldest,  // the resting one does, and the arriving one goes on
  kCancelBoth,
  kDecrement,  // both lose the smaller one's shares untraded; the smaller one expires
};

// The prices that an order may name.
enum class TickRule : std::uint8_t {
  kRegNms,  // from 1.00 up whole cents, below it 0.0001 (17 CFR 242.612, "Rule 612", as of 2005)
  kAny,     // every Price(4)
};
constexpr bool on_tick(TickRule rule, Price price) noexcept {
  constexpr std::int64_t kCent = kPriceScale / 100;
  return rule == TickRule::kAny || price.value < kPriceScale || price.value % kCent == 0;
}

// What to do with a new or replaced order while its instrument does not trade.
enum class HaltRule : std::uint8_t {
  kReject,  // refuse it
  kRest,    // accept it; day orders rest and match when trading resumes, the others expire
};

// Whose crosses on-open and on-close orders take part in.
enum class CrossRule : std::uint8_t {
  kRecorded,  // those of the recording
  kOwn,       // ours, of recorded and live orders
};

struct MatcherOptions {
  book::Options book;
  std::uint32_t live_orders_max = 1u << 16;  // of ours, working at one time
  std::uint32_t order_ids_max = 1u << 20;    // of ours, ever: every request takes one
  HaltRule halt_rule = HaltRule::kReject;
  SelfMatchRule self_match = SelfMatchRule::kCancelNewest;
  // Least display quantity: a round lot. Each slice of an order is a fill and a place in the queue
  // of its own, so that this bounds what one command can cost.
  std::uint32_t display_shares_min = 100;
  // Price bands at this distance from the last trade, in 1/100 of a per cent; 0: none.
  std::uint32_t band_basis_points = 0;
  CrossRule crosses = CrossRule::kRecorded;
  TickRule ticks = TickRule::kRegNms;
  // Raised at each start of the exchange; the top 16 bits of order and execution ids.
  std::uint16_t incarnation = 1;
};

// Requests of participants and what became of their orders.
struct OrderCounters {
  TICKPATH_COUNTERS(received,  // new orders
                    accepted, rejected, cancels, replaces, canceled, replaced, expired,
                    cancel_rejected, replace_rejected,
                    fills,         // reports
                    restated,      // lost shares to self-match prevention and live on
                    triggered,     // stop orders
                    repriced,      // pegged orders, each move
                    replenished);  // slices shown of orders with a display quantity, but the first
};

// Shares that our orders traded, and what that means for the recording.
struct RecordedCounters {
  TICKPATH_COUNTERS(bought_from_recorded, sold_to_recorded,
                    traded_live,         // between our own orders, counted once
                    taken,               // traded with us before the recording traded them
                    taken_released,      // of those, gone from the book since
                    conflict_executed,   // of those released: the recording executed them again
                    conflict_withdrawn,  // of those released: their owner cancelled or replaced
                    displaced);          // recorded executions that in our world went to us
};

// Written by the matching thread; any thread reads.
struct MatcherCounters : OrderCounters, RecordedCounters {
  Counter crosses;                          // of ours
  Counter filled_shares[kFillSourceCount];  // one side of each trade, by source
  Counter traded_shares[kLiquidityCount];   // of our orders, by what they did to the book
  Counter refused[kReasonCount];            // requests, by reason
  Counter unknown_references;
  Counter bad_messages;  // recorded events that the book refused (zero price, duplicate, full)
};

}  // namespace tickpath::sim
