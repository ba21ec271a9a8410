#include "common/fix/codec.hpp"

namespace tickpath::fix {
namespace {

// Reads fields one after the other and remembers the first that fails.
class Reader {
 public:
  explicit Reader(const Fields& fields) noexcept : fields_(fields) {}

  void id(std::uint32_t tag, std::uint64_t& value) noexcept {
    if (const auto text = required(tag); !text.empty()) parse_id(text, value);
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
  // An average has as many decimals as its sender likes: cut to four.
  void average(std::uint32_t tag, Price& value) noexcept {
    auto text = required(tag);
    if (text.empty()) return;
    if (const auto point = text.find('.');
        point != std::string_view::npos && text.size() > point + 5)
      text = text.substr(0, point + 5);
    if (!parse_price(text, value)) fail(DecodeStatus::kBadFormat, tag);
  }
  void side(Side& value) noexcept {
    const char c = one_of(54, "12", '1', true);
    value = c == '2' ? Side::kSell : Side::kBuy;
  }
  void symbol(Symbol& value) noexcept {
    const auto text = required(55);
    if (text.size() > sizeof(value.text)) return fail(DecodeStatus::kBadValue, 55);
    value = Symbol::from(text);
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
  bool has(std::uint32_t tag) const noexcept { return fields_.has(tag); }
  std::string_view get(std::uint32_t tag) const noexcept { return fields_.get(tag); }
  // A value that the message as a whole does not allow.
  void refuse(std::uint32_t tag) noexcept { fail(DecodeStatus::kBadValue, tag); }
  std::string_view required(std::uint32_t tag) noexcept {
    if (!fields_.has(tag)) fail(DecodeStatus::kMissingTag, tag);
    return fields_.get(tag);
  }
  DecodeResult result() const noexcept { return result_; }

 private:
  void fail(DecodeStatus status, std::uint32_t tag) noexcept {
    if (result_) result_ = {status, tag};
  }
  const Fields& fields_;
  DecodeResult result_;
};

// Tag 39 in both versions, and 150 in FIX 4.2.
constexpr std::string_view kStates =
    "012456"
    "8ACDE";
// 150 in FIX 4.4: F is a trade, I the answer to a status request.
constexpr std::string_view kExecTypes44 = "04568ACDEFI";
// 3 Done for day, 7 Stopped, 9 Suspended, B Calculated, G and H, a trade corrected or taken back:
// valid FIX, not of our subset.

// What 40, 44, 59 and 99 say, for a new order and a replacement alike.
template <class Message>
void terms(Reader& read, Message& message) noexcept {
  read.symbol(message.symbol);
  read.side(message.side);
  read.quantity(38, message.order_qty, true);
  message.type = static_cast<OrderType>(read.one_of(40, "1234P", '2', true) - '0');
  message.time_in_force = static_cast<TimeInForce>(read.one_of(59, "012347", '0', false) - '0');
  read.price(44, message.price, has_limit(message.type));
  read.price(99, message.stop_price, has_stop(message.type));
  if (read.has(99) && !has_stop(message.type)) read.refuse(99);
}

// HandlInst: FIX 4.4 does without.
void handling(Reader& read, const Fields& fields) noexcept {
  if (fields.version() == Version::k42) (void)read.required(21);
}

// ExecInst: characters with a blank between them. Returns whether it is post-only. Tag 40 P has
// many kinds, of which the primary peg (18=R) is taken, and R means nothing without it.
bool instructions(Reader& read, OrderType type) noexcept {
  const std::string_view text = read.get(18);
  bool post_only = false;
  bool primary_peg = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at % 2 == 1 && text[at] == ' ') continue;
    if (at % 2 == 1 || (text[at] != '6' && text[at] != 'R')) read.refuse(18);
    post_only |= text[at] == '6';
    primary_peg |= text[at] == 'R';
  }
  if (type == OrderType::kPegged) (void)read.required(18);
  if (primary_peg != (type == OrderType::kPegged)) read.refuse(18);
  return post_only;
}

}  // namespace

DecodeResult decode(const Fields& fields, NewOrderSingle& message) noexcept {
  Reader read(fields);
  read.id(11, message.cl_ord_id);
  handling(read, fields);
  terms(read, message);
  message.post_only = instructions(read, message.type);
  read.quantity(110, message.min_qty, false);
  read.quantity(111, message.max_floor, false);
  // A floor of nothing is a hidden order, which the venue does not have.
  if (read.has(111) && message.max_floor == 0) read.refuse(111);
  read.required(60);
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderCancelRequest& message) noexcept {
  Reader read(fields);
  read.id(41, message.orig_cl_ord_id);
  read.id(11, message.cl_ord_id);
  read.symbol(message.symbol);
  read.side(message.side);
  read.required(60);
  read.quantity(38, message.order_qty, false);  // 4.2 asks for OrderQty or CashOrderQty
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderCancelReplaceRequest& message) noexcept {
  Reader read(fields);
  read.id(41, message.orig_cl_ord_id);
  read.id(11, message.cl_ord_id);
  handling(read, fields);
  terms(read, message);
  read.required(60);
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderStatusRequest& message) noexcept {
  Reader read(fields);
  read.id(11, message.cl_ord_id);
  read.optional_id(790, message.request_id);
  read.symbol(message.symbol);
  read.side(message.side);
  return read.result();
}

DecodeResult decode(const Fields& fields, OrderMassCancelRequest& message) noexcept {
  Reader read(fields);
  read.id(11, message.cl_ord_id);
  message.type = read.one_of(530, "1234567", '7', true);
  message.side = read.one_of(54, "12", '\0', false);
  message.symbol = {};
  if (read.has(55) || message.type == static_cast<char>(MassCancelType::kSecurity))
    read.symbol(message.symbol);
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

DecodeResult decode(const Fields& fields, ExecutionReport& message) noexcept {
  Reader read(fields);
  const bool v44 = fields.version() == Version::k44;
  read.venue_id(37, message.order_id);
  read.id(17, message.exec_id);
  // ExecTransType: New or Status; Cancel and Correct are not of our subset. FIX 4.4 has none.
  message.status = !v44 && read.one_of(20, "03", '0', true) == '3';
  const char exec_type = read.one_of(150, v44 ? kExecTypes44 : kStates, '0', true);
  message.exec_type = static_cast<ExecType>(exec_type);
  message.ord_status = static_cast<OrdStatus>(read.one_of(39, kStates, '0', true));
  read.symbol(message.symbol);
  read.side(message.side);
  read.quantity(151, message.leaves_qty, true);
  read.quantity(14, message.cum_qty, true);
  read.average(6, message.average_price);
  read.optional_id(11, message.cl_ord_id);
  read.optional_id(41, message.orig_cl_ord_id);
  if (v44 && exec_type == 'F')
    message.exec_type = message.leaves_qty == 0 ? ExecType::kFill : ExecType::kPartialFill;
  message.status |= v44 && exec_type == 'I';
  if (message.status) message.exec_type = static_cast<ExecType>(message.ord_status);
  read.optional_id(790, message.status_request_id);
  const bool fill = !message.status && (message.exec_type == ExecType::kFill ||
                                        message.exec_type == ExecType::kPartialFill);
  read.quantity(32, message.last_shares, fill);
  read.price(31, message.last_price, fill);
  read.quantity(38, message.order_qty, false);
  read.price(44, message.price, false);
  message.reject_reason = static_cast<OrdRejReason>(read.number(103, v44 ? 99 : 8, false));
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
  const bool v44 = fields.version() == Version::k44;
  message.reason = static_cast<CxlRejReason>(read.number(102, v44 ? 99 : 3, false));
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
