// The FIX 4.2 and 4.4 application messages of the order path as plain structs, one for both.
//
// Source: "Financial Information Exchange Protocol (FIX), Version 4.2 with Errata 20010501" and
// "Version 4.4 with Errata 20030618"; each struct names its section. Only fields that this pipeline
// uses are kept; a parser skips the rest. Ids are 64-bit numbers and travel as decimal text; where
// a ClOrdID may be the peer's own, its text is beside the number: of a decoded request always, to
// be sent instead of the number if it is not empty. Prices are Price(4) and travel with four
// decimals. Views (text) point into the receive buffer and live as long as the callback.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/base/units.hpp"
#include "common/trading/order_terms.hpp"

namespace tickpath::fix {

using trading::OrderType;
using trading::TimeInForce;

// What a session speaks (tag 8). The structs of this header are the same for both; where the
// versions differ, encoder and decoder translate.
enum class Version : std::uint8_t { k42, k44 };
constexpr std::string_view begin_string(Version version) noexcept {
  return version == Version::k42 ? "FIX.4.2" : "FIX.4.4";
}

// Tag 55. Longer ones are cut by from(): ITCH and our directory use at most 8 characters.
struct Symbol {
  char text[15] = {};
  std::uint8_t length = 0;

  static Symbol from(std::string_view name) noexcept {
    Symbol symbol;
    symbol.length =
        static_cast<std::uint8_t>(name.size() < sizeof(text) ? name.size() : sizeof(text));
    if (symbol.length != 0) std::memcpy(symbol.text, name.data(), symbol.length);
    return symbol;
  }
  std::string_view view() const noexcept { return {text, length}; }
  friend bool operator==(const Symbol& a, const Symbol& b) { return a.view() == b.view(); }
};

// Tag 150, FIX 4.2 values: partial fill and fill are separate. FIX 4.4 has one for both, 'F' Trade;
// which of the two it was is read from LeavesQty.
enum class ExecType : char {
  kNew = '0',
  kPartialFill = '1',
  kFill = '2',
  kDoneForDay = '3',
  kCanceled = '4',
  kReplaced = '5',
  kPendingCancel = '6',
  kStopped = '7',  // a price is guaranteed; the order works on
  kRejected = '8',
  kSuspended = '9',
  kPendingNew = 'A',
  kCalculated = 'B',  // commission or settlement were added
  kExpired = 'C',
  kRestated = 'D',  // the venue has changed the order by itself
  kPendingReplace = 'E',
  // A stop order's price was reached. FIX 4.2 and 4.4 do not have this value (FIX 5.0 has): we send
  // Restated with the OrdType (40) that the order has now. Some venues send it, and we take it.
  kTriggered = 'L',
};

// What a report does to an execution that was reported before (ExecRefID, 19). FIX 4.2:
// ExecTransType (20) 1 and 2; FIX 4.4: ExecType H and G.
enum class TradeChange : std::uint8_t { kNone, kCanceled, kCorrected };

// Tag 39.
enum class OrdStatus : char {
  kNew = '0',
  kPartiallyFilled = '1',
  kFilled = '2',
  kDoneForDay = '3',
  kCanceled = '4',
  kReplaced = '5',
  kPendingCancel = '6',
  kStopped = '7',
  kRejected = '8',
  kSuspended = '9',
  kPendingNew = 'A',
  kCalculated = 'B',
  kExpired = 'C',
  kAcceptedForBidding = 'D',
  kPendingReplace = 'E',
};

// Tag 103. Values up to 8 are of both versions.
enum class OrdRejReason : std::uint8_t {
  kBrokerOption = 0,
  kUnknownSymbol = 1,
  kExchangeClosed = 2,
  kOrderExceedsLimit = 3,
  kTooLateToEnter = 4,
  kUnknownOrder = 5,
  kDuplicateOrder = 6,
};

// Tag 102.
enum class CxlRejReason : std::uint8_t {
  kTooLateToCancel = 0,
  kUnknownOrder = 1,
  kBrokerOption = 2,
  kAlreadyPending = 3,
};

// Tag 530. FIX 4.4 has more (underlying, product, session, ...), which the venue does not take.
enum class MassCancelType : char { kSecurity = '1', kAll = '7' };

// Tag 532; absent unless MassCancelResponse (531) is 0, rejected.
enum class MassCancelRejectReason : std::uint8_t {
  kNotSupported = 0,
  kUnknownSecurity = 1,
  kNone = 0xff,
};

// Longest ClOrdID (11, 41) and Account (1) of a peer that are taken and sent.
inline constexpr std::size_t kClOrdIdMax = 32;
inline constexpr std::size_t kAccountMax = 32;
// The longest Symbol that is taken; it may name anything.
inline constexpr std::size_t kSymbolMax = 32;

// New Order - Single, MsgType D. Initiator to acceptor.
struct NewOrderSingle {
  std::uint64_t cl_ord_id = 0;  // 11
  Price price;                  // 44: limit and stop limit; of a pegged order the limit, if any
  Price stop_price;             // 99: stop and stop limit
  std::uint32_t order_qty = 0;  // 38
  std::uint32_t max_floor = 0;  // 111: shares shown at a time; 0 (absent): all
  std::uint32_t min_qty = 0;    // 110: 0 (absent): none
  Side side = Side::kBuy;       // 54: 1 or 2
  OrderType type = OrderType::kLimit;
  TimeInForce time_in_force = TimeInForce::kDay;
  bool post_only = false;  // 18 holds '6', "Participate don't initiate"; a pegged order's holds 'R'
  Symbol symbol;
  std::string_view cl_ord_id_text;  // 11
  std::string_view account;         // 1; read, not sent
  std::string_view party;           // 448, FIX 4.4: the first PartyID; read, not sent
  // Why a decoded request is not carried out, though it is valid FIX; empty: it is taken.
  std::string_view unsupported;
  std::string_view symbol_text;  // 55, whole
};

// Order Cancel Request, MsgType F. Initiator to acceptor.
struct OrderCancelRequest {
  std::uint64_t cl_ord_id = 0;       // 11: of this request
  std::uint64_t orig_cl_ord_id = 0;  // 41: the order's current id
  std::uint32_t order_qty = 0;       // 38: as ordered
  Side side = Side::kBuy;
  Symbol symbol;
  std::string_view cl_ord_id_text;
  std::string_view orig_cl_ord_id_text;
  std::string_view symbol_text;  // 55, whole
};

// Order Cancel/Replace Request, MsgType G. Initiator to acceptor.
struct OrderCancelReplaceRequest {
  std::uint64_t cl_ord_id = 0;       // 11: the order's id from the replacement on
  std::uint64_t orig_cl_ord_id = 0;  // 41: its id so far
  Price price;                       // 44
  Price stop_price;                  // 99
  std::uint32_t order_qty = 0;       // 38: the new total, what is filled included
  Side side = Side::kBuy;
  OrderType type = OrderType::kLimit;
  TimeInForce time_in_force = TimeInForce::kDay;
  Symbol symbol;
  std::string_view cl_ord_id_text;
  std::string_view orig_cl_ord_id_text;
  std::string_view unsupported;  // as of a new order
  // As of a new order, and repeated: a venue carries ExecInst over to no replacement (FIX 4.2 and
  // 4.4, vol. 4), and may forget the rest as well.
  std::uint32_t max_floor = 0;
  std::uint32_t min_qty = 0;
  bool post_only = false;
  // Read, not sent: which of those that a venue does not change were there.
  bool says_time_in_force = false;  // 59
  bool says_instructions = false;   // 18
  std::string_view symbol_text;     // 55, whole
};

// Order Status Request, MsgType H. Initiator to acceptor, which answers by an Execution Report.
struct OrderStatusRequest {
  std::uint64_t cl_ord_id = 0;  // 11: the order's current id
  Side side = Side::kBuy;
  Symbol symbol;
  std::string_view cl_ord_id_text;
  std::string_view symbol_text;  // 55, whole
  std::string_view request_id;   // 790, FIX 4.4: comes back in the answer; empty is absent
};

// Order Mass Status Request, MsgType AF, FIX 4.4 alone. Read by an acceptor, which answers by an
// Execution Report for each open order; sent by nobody here.
struct OrderMassStatusRequest {
  std::uint64_t request_id = 0;  // 584
  char type = '7';               // 585: '1' of a security, '7' all, or one that is refused
  char side = 0;                 // 54: '1' or '2' restricts it to one side, 0 (absent): both
  Symbol symbol;                 // 55: of type 1; empty is absent
  std::string_view request_id_text;
  std::string_view symbol_text;  // 55, whole
  std::string_view unsupported;  // as of a mass cancel
};

// Order Mass Cancel Request, MsgType q, FIX 4.4 alone. Initiator to acceptor.
struct OrderMassCancelRequest {
  std::uint64_t cl_ord_id = 0;  // 11: of this request
  char type = '7';              // 530, a MassCancelType or one that is refused
  char side = 0;                // 54: '1' or '2' restricts it to one side, 0 (absent): both
  Symbol symbol;                // 55: of type 1; empty is absent
  std::string_view cl_ord_id_text;
  std::string_view symbol_text;  // 55, whole
  std::string_view unsupported;  // what it asks for and no venue here has; empty: nothing
};

// The routing fields of an answer: those of what it answers, the other way round (FIX 4.2 and 4.4,
// vol. 1, third-party message routing). Empty ones are left out, and those of more than kCompIdMax.
struct Route {
  std::string_view from_comp{}, from_sub{}, from_location{};  // 115, 116, 144
  std::string_view to_comp{}, to_sub{}, to_location{};        // 128, 129, 145
};
// Longest field of a route that a report is sent back by, and all of them as they are sent: with
// these a report fits into a store's slot, its text cut.
inline constexpr std::size_t kRoutedMax = 16;
inline constexpr std::size_t kRouteBytesMax = 84;

// Order Mass Cancel Report, MsgType r, FIX 4.4 alone. Acceptor to initiator, behind the Execution
// Reports of the orders that were canceled.
struct OrderMassCancelReport {
  std::uint64_t cl_ord_id = 0;  // 11: of the request
  std::uint64_t order_id = 0;   // 37: the venue's number of the request
  std::uint32_t affected = 0;   // 533: orders canceled
  char type = '7';              // 530: as asked for
  char side = 0;                // 54, likewise
  // 531 is the type if the request was carried out, else 0.
  MassCancelRejectReason reason = MassCancelRejectReason::kNone;
  Symbol symbol;
  std::string_view text;            // 58
  std::string_view cl_ord_id_text;  // sent only
  std::string_view symbol_text;     // likewise
  const Route* route = nullptr;     // as of an Execution Report
};

// Execution Report, MsgType 8. Acceptor to initiator. FIX 4.2: ExecTransType (20) says whether it
// is new, changes an execution, or answers a status request; FIX 4.4: ExecType does (G, H, I).
struct ExecutionReport {
  std::uint64_t order_id = 0;        // 37: the venue's
  std::uint64_t exec_id = 0;         // 17: unique in the session
  std::uint64_t exec_ref_id = 0;     // 19: the execution that trade_change is about
  std::uint64_t cl_ord_id = 0;       // 11
  std::uint64_t orig_cl_ord_id = 0;  // 41: canceled and replaced only, else 0 (absent)
  Price price;                       // 44: limit in effect; 0 (absent) for market
  Price last_price;                  // 31: fills only, its first four decimals
  Price average_price;               // 6
  std::uint32_t order_qty = 0;       // 38
  std::uint32_t last_shares = 0;     // 32: fills only
  std::uint32_t leaves_qty = 0;      // 151
  std::uint32_t cum_qty = 0;         // 14
  ExecType exec_type = ExecType::kNew;
  OrdStatus ord_status = OrdStatus::kNew;
  Side side = Side::kBuy;
  TradeChange trade_change = TradeChange::kNone;
  std::uint8_t last_price_hundredths = 0;  // of 1/10,000: the fifth and sixth decimal of 31
  bool last_price_exact = true;            // received: 31 has no more decimals than these
  // 12, with CommType (13) 3, absolute: fee of this fill in millionths of the currency's unit,
  // below 0 a rebate. Received also with 1, per share.
  bool has_commission = false;
  bool commission_known = true;  // received: false: of another type, or of more than six decimals
  std::uint8_t liquidity = 0;    // 851, sent in FIX 4.4: 1 added, 2 removed; 0: absent
  std::int64_t commission_millionths = 0;
  bool status = false;  // answers an Order Status Request: nothing has happened; exec_id is 0
  OrdRejReason reject_reason = OrdRejReason::kBrokerOption;  // 103: exec_type rejected only
  OrderType order_type{};  // 40: sent of a triggered order; 0: absent
  Symbol symbol;
  std::string_view text;  // 58: empty is absent; at most kTextMax are sent
  // Sent only.
  std::string_view cl_ord_id_text;
  std::string_view orig_cl_ord_id_text;
  std::string_view account;  // 1: empty is absent
  std::string_view symbol_text;
  std::string_view status_request_id;  // 790, FIX 4.4: of the request that a status answers
  // An answer to a mass status request, FIX 4.4, has it; empty: absent, as are the next two then.
  std::string_view mass_status_id;  // 584
  std::uint32_t reports_total = 0;  // 911
  bool last_report = false;         // 912
  const Route* route = nullptr;     // sent only: of kRouteBytesMax at most; none
};

// Order Cancel Reject, MsgType 9. Acceptor to initiator.
struct OrderCancelReject {
  std::uint64_t order_id = 0;        // 37: the venue's; 0 travels as "NONE" (unknown order)
  std::uint64_t cl_ord_id = 0;       // 11: of the refused request
  std::uint64_t orig_cl_ord_id = 0;  // 41: the order that lives on
  OrdStatus ord_status = OrdStatus::kNew;
  CxlRejReason reason = CxlRejReason::kBrokerOption;  // 102
  bool of_replace = false;                            // 434: 1 cancel, 2 cancel/replace
  std::string_view text;
  std::string_view cl_ord_id_text;  // sent only, as the next
  std::string_view orig_cl_ord_id_text;
  const Route* route = nullptr;  // as of an Execution Report
};

// Session-level Reject (MsgType 3) and Business Message Reject (MsgType j) of something we sent.
struct MessageReject {
  bool business = false;
  std::uint32_t ref_seq_num = 0;    // 45
  std::uint32_t ref_tag = 0;        // 371, session level only
  std::uint32_t reason = 0;         // 373 or 380
  char ref_msg_type = 0;            // 372: 'D', 'F', 'G', ...; 0 unknown
  std::uint64_t ref_cl_ord_id = 0;  // tag 11 of the refused message, found in our store; 0 unknown
  std::string_view text;
};

// Longest tag 58 that is sent; the rest is cut.
inline constexpr std::size_t kTextMax = 80;

// Longest CompID (tags 49, 56).
inline constexpr std::size_t kCompIdMax = 32;

// Upper bound of an encoded message of this header: the header with two full CompIDs (132), an
// execution report's 26 fields with the longest ids, account and symbol (about 410) and kTextMax. A
// store slot holds one, and has no more room.
inline constexpr std::size_t kMessageBytesMax = 632;
// The same, sent again: with PossDupFlag and OrigSendingTime (122) of up to nanoseconds.
inline constexpr std::size_t kResentBytesMax = kMessageBytesMax + 48;

}  // namespace tickpath::fix
