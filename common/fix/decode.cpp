#include <algorithm>

#include "common/fix/codec.hpp"
#include "common/fix/detail/unsupported_terms.hpp"

namespace tickpath::fix {
namespace {

// Reads fields one after the other and remembers the first that fails.
class Reader {
 public:
  explicit Reader(const Fields& fields) noexcept : fields_(fields) {}

  void id(std::uint32_t tag, std::uint64_t& value) noexcept {
    if (const auto text = required(tag); !text.empty()) parse_id(text, value);
  }
  // A ClOrdID of a request: the peer's own text, and the number that it is for us.
  void request_id(std::uint32_t tag, std::uint64_t& value, std::string_view& text) noexcept {
    text = required(tag);
    if (text.size() > kClOrdIdMax) return fail(DecodeStatus::kTooLong, tag);
    if (!text.empty()) parse_id(text, value);
  }
  // A name in a request; one that is longer is refused with a text.
  std::string_view optional_name(std::uint32_t tag, std::size_t length_max) noexcept {
    const auto text = fields_.get(tag);
    if (text.size() > length_max) fail(DecodeStatus::kTooLong, tag);
    return text;
  }
  // OrderID (37) of an unknown order is "NONE" (FIX 4.2, Order Cancel Reject): 0 here.
  void venue_id(std::uint32_t tag, std::uint64_t& value) noexcept {
    const auto text = required(tag);
    if (text == "NONE")
      value = 0;
    else if (!text.empty())
      parse_id(text, value);
  }
  void optional_id(std::uint32_t tag, std::uint64_t& value) noexcept {
    value = 0;
    if (fields_.has(tag)) parse_id(fields_.get(tag), value);
  }
  // A quantity: whole shares, though the type is a float.
  void quantity(std::uint32_t tag, std::uint32_t& value, bool needed) noexcept {
    value = 0;
    if (!needed && !fields_.has(tag)) return;
    const auto text = required(tag);
    Price shares;
    if (text.empty()) return;
    if (!parse_price(text, shares)) return fail(DecodeStatus::kBadFormat, tag);
    if (shares.value % kPriceScale != 0 || shares.value / kPriceScale > 0xffff'ffff)
      return fail(DecodeStatus::kBadValue, tag);
    value = static_cast<std::uint32_t>(shares.value / kPriceScale);
  }
  void price(std::uint32_t tag, Price& value, bool needed) noexcept {
    value = {};
    if (!needed && !fields_.has(tag)) return;
    const auto text = required(tag);
    if (!text.empty() && !parse_price(text, value)) fail(DecodeStatus::kBadFormat, tag);
  }
  void executed_price(std::uint32_t tag, ExecutionReport& message) noexcept {
    const auto text = required(tag);
    if (!text.empty() &&
        !parse_executed_price(text, message.last_price, message.last_price_hundredths,
                              message.last_price_exact))
      fail(DecodeStatus::kBadFormat, tag);
  }
  // A price that no money is counted by, an average or the order's limit: cut to four decimals, and
  // 0 where it is absent or no price.
  void price_shown(std::uint32_t tag, Price& value) noexcept {
    value = {};
    auto text = fields_.get(tag);
    if (const auto point = text.find('.');
        point != std::string_view::npos && text.size() > point + 5)
      text = text.substr(0, point + 5);
    (void)parse_price(text, value);
  }
  // A number of shares for people; 0 where the field has none.
  void quantity_shown(std::uint32_t tag, std::uint32_t& value) noexcept {
    Price shares;
    const bool fits = parse_price(fields_.get(tag), shares) && shares.value % kPriceScale == 0 &&
                      shares.value / kPriceScale <= 0xffff'ffff;
    value = fits ? static_cast<std::uint32_t>(shares.value / kPriceScale) : 0;
  }
  // Commission (12) by its type (13), for the whole fill.
  void commission(ExecutionReport& message) noexcept {
    std::string_view text = fields_.get(12);
    const bool rebate = !text.empty() && text[0] == '-';
    if (rebate) text.remove_prefix(1);
    Price whole;
    std::uint8_t hundredths = 0;
    bool exact = true;
    const std::string_view type = fields_.get(13);
    constexpr std::int64_t kMost = std::int64_t{1} << 56;  // times no more than one share
    message.commission_known = parse_executed_price(text, whole, hundredths, exact) && exact &&
                               whole.value < kMost / 100 && (type == "3" || type == "1");
    message.commission_millionths = 0;
    if (!message.commission_known) return;
    const std::int64_t each = whole.value * 100 + hundredths;
    std::int64_t fee = each;
    if (type == "1" && __builtin_mul_overflow(each, std::int64_t{message.last_shares}, &fee))
      message.commission_known = false;
    message.commission_millionths = !message.commission_known ? 0 : rebate ? -fee : fee;
  }
  // Any side that FIX has, in a request. The venue refuses those that it does not.
  void any_side(Side& value) noexcept {
    value = static_cast<Side>(one_of(54, "123456789ABCDEFG", '1', true) - '0');
  }
  // Any number in a request. text: why the venue does not take it.
  void term_price(std::uint32_t tag, Price& value, bool needed, std::string_view text) noexcept {
    value = {};
    if (!needed && !fields_.has(tag)) return;
    const auto given = required(tag);
    if (given.empty() || parse_price(given, value)) return;
    is_number(given) ? unsupported(text) : fail(DecodeStatus::kBadFormat, tag);
  }
  // A whole number beyond them all is the largest: the venue has words of its own for too many.
  void term_quantity(std::uint32_t tag, std::uint32_t& value, bool needed,
                     std::string_view text) noexcept {
    constexpr std::int64_t kMost = 0xffff'ffff;
    const std::string_view given = fields_.get(tag);
    const bool whole = !given.empty() && given.find_first_not_of("0123456789") == given.npos;
    Price shares;
    if (whole && !parse_price(given, shares))
      shares.value = kMost * kPriceScale;
    else if (!whole)
      term_price(tag, shares, needed, text);
    if (shares.value % kPriceScale != 0) return unsupported(text);
    value = static_cast<std::uint32_t>(std::min(shares.value / kPriceScale, kMost));
  }
  // The first counts.
  void unsupported(std::string_view text) noexcept {
    if (unsupported_.empty()) unsupported_ = text;
  }
  std::string_view unsupported() const noexcept { return unsupported_; }
  void side(Side& value) noexcept {
    const char c = one_of(54, "12", '1', true);
    value = c == '2' ? Side::kSell : Side::kBuy;
  }
  void symbol(Symbol& value) noexcept {
    const auto text = required(55);
    if (text.size() > sizeof(value.text)) return fail(DecodeStatus::kBadValue, 55);
    value = Symbol::from(text);
  }
  // Whatever the peer takes for a symbol in a request.
  template <class Message>
  void any_symbol(Message& message) noexcept {
    message.symbol_text = required(55);
    if (message.symbol_text.size() > kSymbolMax) return fail(DecodeStatus::kTooLong, 55);
    message.symbol = Symbol::from(message.symbol_text);
  }
  // One character out of `values`.
  char one_of(std::uint32_t tag, std::string_view values, char absent, bool needed) noexcept {
    if (!needed && !fields_.has(tag)) return absent;
    const auto text = required(tag);
    if (text.empty()) return absent;
    if (text.size() == 1 && values.find(text[0]) != std::string_view::npos) return text[0];
    fail(DecodeStatus::kBadValue, tag);
    return absent;
  }
  std::uint32_t number(std::uint32_t tag, std::uint32_t limit, bool needed) noexcept {
    if (!needed && !fields_.has(tag)) return 0;
    std::uint64_t value = 0;
    const auto text = required(tag);
    if (text.empty()) return 0;
    if (!parse_number(text, value)) {
      fail(DecodeStatus::kBadFormat, tag);
      return 0;
    }
    if (value > limit) {
      fail(DecodeStatus::kBadValue, tag);
      return 0;
    }
    return static_cast<std::uint32_t>(value);
  }
  std::string_view text() const noexcept { return fields_.get(58); }
  const Fields& fields() const noexcept { return fields_; }
  bool has(std::uint32_t tag) const noexcept { return fields_.has(tag); }
  std::string_view get(std::uint32_t tag) const noexcept { return fields_.get(tag); }
  std::string_view required(std::uint32_t tag) noexcept {
    if (!fields_.has(tag)) fail(DecodeStatus::kMissingTag, tag);
    return fields_.get(tag);
  }
  DecodeResult result() const noexcept { return result_; }

 private:
  void fail(DecodeStatus status, std::uint32_t tag) noexcept {
    if (result_) result_ = {status, tag};
  }
  // FIX 4.2, vol. 1, data types: float.
  static bool is_number(std::string_view text) noexcept {
    if (!text.empty() && text[0] == '-') text.remove_prefix(1);
    const auto digits = [](std::string_view part) {
      return part.find_first_not_of("0123456789") == std::string_view::npos;
    };
    const std::size_t point = text.find('.');
    if (point == std::string_view::npos) return !text.empty() && digits(text);
    return text.size() > 1 && digits(text.substr(0, point)) && digits(text.substr(point + 1));
  }
  const Fields& fields_;
  std::string_view unsupported_;
  DecodeResult result_;
};

// Tag 39 in both versions.
constexpr std::string_view kStates = "0123456789ABCDE";
// 150 in FIX 4.2, and L of FIX 5.0.
constexpr std::string_view kExecTypes42 = "0123456789ABCDEL";
// 150 in FIX 4.4: F is a trade, G and H correct one and take it back, I answers a status request.
constexpr std::string_view kExecTypes44 = "03456789ABCDEFGHIL";

// Order types of both versions; the venue takes few of them.
constexpr std::string_view kOrderTypes = "123456789ABCDEFGHIJKLMP";

constexpr std::string_view kFloor = "MaxFloor (111) is no whole number of shares above 0";

// What 40, 44, 59 and 99 say, for a new order and a replacement alike.
template <class Message>
void terms(Reader& read, Message& message) noexcept {
  read.any_symbol(message);
  read.any_side(message.side);
  read.unsupported(detail::unsupported_term(read.fields()));
  // In place of OrderQty, and refused for that.
  read.term_quantity(38, message.order_qty, !read.has(152),
                     "OrderQty (38) is no whole number of shares");
  message.type = static_cast<OrderType>(read.one_of(40, kOrderTypes, '2', true) - '0');
  message.time_in_force = static_cast<TimeInForce>(read.one_of(59, "01234567", '0', false) - '0');
  read.term_price(44, message.price, has_limit(message.type),
                  "Price (44) is negative, too large or has more than four decimals");
  read.term_price(99, message.stop_price, has_stop(message.type),
                  "StopPx (99) is negative, too large or has more than four decimals");
  if (read.has(99) && !has_stop(message.type))
    read.unsupported("StopPx (99) does not go with OrdType (40)");
}

// HandlInst: FIX 4.4 does without.
void handling(Reader& read, const Fields& fields) noexcept {
  if (fields.version() == Version::k42) (void)read.required(21);
}

// ExecInst: characters with a blank between them. Returns whether it is post-only. Tag 40 P has
// many kinds, of which the primary peg (18=R) is taken, and R means nothing without it.
bool instructions(Reader& read, OrderType type) noexcept {
  constexpr std::string_view kInstructions =
      "ExecInst (18) other than 6 and, of pegged orders (40=P), R is not supported";
  const std::string_view text = read.get(18);
  bool post_only = false;
  bool primary_peg = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at % 2 == 1 && text[at] == ' ') continue;
    if (at % 2 == 1 || (text[at] != '6' && text[at] != 'R')) read.unsupported(kInstructions);
    post_only |= text[at] == '6';
    primary_peg |= text[at] == 'R';
  }
  if (type == OrderType::kPegged) (void)read.required(18);
  if (primary_peg != (type == OrderType::kPegged)) read.unsupported(kInstructions);
  return post_only;
}

}  // namespace

DecodeResult decode(const Fields& fields, NewOrderSingle& message) noexcept {
  Reader read(fields);
  read.request_id(11, message.cl_ord_id, message.cl_ord_id_text);
  handling(read, fields);
  terms(read, message);
  message.post_only = instructions(read, message.type);
  read.term_quantity(110, message.min_qty, false, "MinQty (110) is no whole number of shares");
  read.term_quantity(111, message.max_floor, false, kFloor);
  // A floor of nothing is a hidden order, which the venue does not have.
  if (read.has(111) && message.max_floor == 0) read.unsupported(kFloor);
  message.account = read.optional_name(1, kAccountMax);
  message.party = read.optional_name(448, kAccountMax);
  read.required(60);
  message.unsupported = read.unsupported();
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderCancelRequest& message) noexcept {
  Reader read(fields);
  read.request_id(41, message.orig_cl_ord_id, message.orig_cl_ord_id_text);
  read.request_id(11, message.cl_ord_id, message.cl_ord_id_text);
  read.any_symbol(message);
  read.any_side(message.side);
  read.required(60);
  read.term_quantity(38, message.order_qty, false, {});  // nobody reads it
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderCancelReplaceRequest& message) noexcept {
  Reader read(fields);
  read.request_id(41, message.orig_cl_ord_id, message.orig_cl_ord_id_text);
  read.request_id(11, message.cl_ord_id, message.cl_ord_id_text);
  handling(read, fields);
  terms(read, message);
  read.required(60);
  message.says_time_in_force = read.has(59);
  message.says_instructions = read.has(18);
  message.post_only = read.has(18) && instructions(read, message.type);
  read.term_quantity(110, message.min_qty, false, "MinQty (110) is no whole number of shares");
  read.term_quantity(111, message.max_floor, false, kFloor);
  message.unsupported = read.unsupported();
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderStatusRequest& message) noexcept {
  Reader read(fields);
  read.request_id(11, message.cl_ord_id, message.cl_ord_id_text);
  message.request_id = read.optional_name(790, kClOrdIdMax);
  read.any_symbol(message);
  read.any_side(message.side);
  return read.result();
}

namespace {

// Which orders a request for many means: all, those of a side, of a security. `type_tag`: 530 or
// 585, whose 1 and 7 mean the same.
template <class Request>
void selection(Reader& read, std::uint32_t type_tag, std::string_view types,
               Request& message) noexcept {
  message.type = read.one_of(type_tag, types, static_cast<char>(MassCancelType::kAll), true);
  message.side = read.one_of(54, "12", '\0', false);
  message.symbol = {};
  message.symbol_text = {};
  if (read.has(55) || message.type == static_cast<char>(MassCancelType::kSecurity))
    read.any_symbol(message);
  message.unsupported = {};
  if (read.has(336) || read.has(625))
    message.unsupported = "TradingSessionID (336, 625) is not supported: the day is one session";
}

}  // namespace

DecodeResult decode(const Fields& fields, OrderMassStatusRequest& message) noexcept {
  Reader read(fields);
  read.request_id(584, message.request_id, message.request_id_text);
  selection(read, 585, "12345678", message);
  if (!message.unsupported.empty()) return read.result();
  if (read.has(1) || read.has(448))
    message.unsupported = "Account (1) and Parties are not supported here: all orders are meant";
  else if (message.type != '1' && message.type != '7')
    message.unsupported = "MassStatusReqType (585) other than 1, security, and 7, all";
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderMassCancelRequest& message) noexcept {
  Reader read(fields);
  read.request_id(11, message.cl_ord_id, message.cl_ord_id_text);
  selection(read, 530, "1234567", message);
  read.required(60);
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderMassCancelReport& message) noexcept {
  Reader read(fields);
  read.optional_id(11, message.cl_ord_id);
  read.id(37, message.order_id);
  message.type = read.one_of(530, "1234567", '7', true);
  const bool refused = read.one_of(531, "01234567", '0', true) == '0';
  message.reason = MassCancelRejectReason::kNone;
  if (refused) message.reason = static_cast<MassCancelRejectReason>(read.number(532, 99, false));
  message.affected = read.number(533, 0xffff'ffff, false);
  message.side = read.one_of(54, "12", '\0', false);
  message.symbol = {};
  if (read.has(55)) read.symbol(message.symbol);
  message.text = read.text();
  return read.result();
}

namespace {

// What kind of report it is: 20, 150, 39 and, where an earlier execution is changed, 19.
void report_kind(Reader& read, bool v44, ExecutionReport& message) noexcept {
  const char transaction = v44 ? '0' : read.one_of(20, "0123", '0', true);
  const char exec_type = read.one_of(150, v44 ? kExecTypes44 : kExecTypes42, '0', true);
  message.exec_type = static_cast<ExecType>(exec_type);
  message.ord_status = static_cast<OrdStatus>(read.one_of(39, kStates, '0', true));
  message.status = transaction == '3' || exec_type == 'I';
  message.trade_change = transaction == '1' || exec_type == 'H'   ? TradeChange::kCanceled
                         : transaction == '2' || exec_type == 'G' ? TradeChange::kCorrected
                                                                  : TradeChange::kNone;
  read.optional_id(19, message.exec_ref_id);
  if (message.trade_change != TradeChange::kNone) (void)read.required(19);
}

}  // namespace

DecodeResult decode(const Fields& fields, ExecutionReport& message) noexcept {
  Reader read(fields);
  const bool v44 = fields.version() == Version::k44;
  read.venue_id(37, message.order_id);
  read.id(17, message.exec_id);
  report_kind(read, v44, message);
  read.symbol(message.symbol);
  // A report about no order answers a mass status request that finds none.
  message.status ? read.any_side(message.side) : read.side(message.side);
  read.quantity(151, message.leaves_qty, true);
  read.quantity(14, message.cum_qty, true);
  read.price_shown(6, message.average_price);
  read.optional_id(11, message.cl_ord_id);
  read.optional_id(41, message.orig_cl_ord_id);
  const char exec_type = static_cast<char>(message.exec_type);
  if (v44 && exec_type >= 'F' && exec_type <= 'H')
    message.exec_type = message.leaves_qty == 0 ? ExecType::kFill : ExecType::kPartialFill;
  if (message.status) message.exec_type = static_cast<ExecType>(message.ord_status);
  // An execution that is taken back is known; of a corrected one the right figures are needed.
  const bool fill =
      !message.status && message.trade_change != TradeChange::kCanceled &&
      (message.exec_type == ExecType::kFill || message.exec_type == ExecType::kPartialFill ||
       message.trade_change == TradeChange::kCorrected);
  message.last_shares = 0;
  message.last_price = {};
  message.last_price_hundredths = 0;
  message.last_price_exact = true;
  if (fill) {
    read.quantity(32, message.last_shares, true);
    read.executed_price(31, message);
  }
  message.has_commission = fill && read.has(12);
  message.commission_known = true;
  message.commission_millionths = 0;
  if (message.has_commission) [[unlikely]]
    read.commission(message);
  read.quantity_shown(38, message.order_qty);
  read.price_shown(44, message.price);
  // A reason that the version does not have is still a rejection.
  message.reject_reason = static_cast<OrdRejReason>(read.number(103, 99, false));
  const std::string_view type = fields.get(40);
  message.order_type = type.size() == 1 ? static_cast<OrderType>(type[0] - '0') : OrderType{};
  message.text = read.text();
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderCancelReject& message) noexcept {
  Reader read(fields);
  read.venue_id(37, message.order_id);
  read.id(11, message.cl_ord_id);
  read.id(41, message.orig_cl_ord_id);
  message.ord_status = static_cast<OrdStatus>(read.one_of(39, kStates, '0', true));
  message.of_replace = read.one_of(434, "12", '1', true) == '2';
  message.reason = static_cast<CxlRejReason>(read.number(102, 99, false));
  message.text = read.text();
  return read.result();
}

DecodeResult decode(const Fields& fields, MessageReject& message) noexcept {
  Reader read(fields);
  message.business = fields.msg_type() == 'j';
  message.ref_seq_num = read.number(45, 0x7fff'ffff, !message.business);
  message.ref_tag = read.number(371, 0xffff'ffff, false);
  message.reason = read.number(message.business ? 380 : 373, 0xffff, false);
  const std::string_view type = fields.get(372);
  message.ref_msg_type = type.size() == 1 ? type[0] : '\0';
  message.ref_cl_ord_id = 0;
  message.text = read.text();
  return read.result();
}

}  // namespace tickpath::fix
