#include <algorithm>
#include <charconv>
#include <ctime>
#include <iterator>

#include "common/base/check.hpp"
#include "common/base/names.hpp"
#include "common/fix/codec.hpp"
#include "common/fix/detail/raw_fields.hpp"

namespace tickpath::fix {
namespace {

// Positions in the header template.
constexpr std::string_view kPrefix =
    "8=FIX.4.?\x01"
    "9=0000\x01"
    "35=?\x01"
    "49=";
constexpr std::size_t kMinorVersionAt = 8;
constexpr std::size_t kBodyLengthAt = 12;
constexpr std::size_t kBodyLengthDigits = 4;
constexpr std::size_t kBodyAt = 17;  // BodyLength counts from behind the SOH of tag 9
constexpr std::size_t kMsgTypeAt = 20;
constexpr std::size_t kSeqDigits = 9;

// Fixed width, leading zeros: an int may carry them.
void put_digits(char* out, std::uint64_t value, std::size_t width) noexcept {
  while (width != 0) {
    out[--width] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

// ExecTransType (20), FIX 4.2.
char transaction_of(const ExecutionReport& message) noexcept {
  if (message.status) return '3';
  return static_cast<char>('0' + static_cast<int>(message.trade_change));
}

// What is left for a text (58) behind which the checksum follows.
std::size_t text_room(const char* out, const char* at) noexcept {
  constexpr std::size_t kAround = std::string_view("58=|10=000|").size();
  const auto used = static_cast<std::size_t>(at - out) + kAround;
  return used < kMessageBytesMax ? kMessageBytesMax - used : 0;
}

}  // namespace

const char* UtcText::at(std::int64_t realtime_ns) noexcept {
  const std::int64_t second = realtime_ns / 1'000'000'000;
  if (second != second_) set_second(second);
  put_digits(text_ + 18, static_cast<std::uint64_t>(realtime_ns / 1'000'000 % 1000), 3);
  return text_;
}

void UtcText::set_second(std::int64_t second) noexcept {
  second_ = second;
  const std::time_t time = second;
  std::tm parts{};
  gmtime_r(&time, &parts);  // arithmetic only: UTC needs no zone file
  put_digits(text_, static_cast<std::uint64_t>(parts.tm_year + 1900), 4);
  put_digits(text_ + 4, static_cast<std::uint64_t>(parts.tm_mon + 1), 2);
  put_digits(text_ + 6, static_cast<std::uint64_t>(parts.tm_mday), 2);
  text_[8] = '-';
  put_digits(text_ + 9, static_cast<std::uint64_t>(parts.tm_hour), 2);
  text_[11] = ':';
  put_digits(text_ + 12, static_cast<std::uint64_t>(parts.tm_min), 2);
  text_[14] = ':';
  put_digits(text_ + 15, static_cast<std::uint64_t>(parts.tm_sec), 2);
  text_[17] = '.';
}

// Appends fields. The caller's buffer has room for kMessageBytesMax, which no message exceeds.
class Encoder::Body {
 public:
  explicit Body(char* at) noexcept : at_(at) {}

  template <std::size_t N>
  Body& raw(const char (&text)[N]) noexcept {
    std::memcpy(at_, text, N - 1);
    at_ += N - 1;
    return *this;
  }
  // A part of a value; its end is still to come.
  Body& part(std::string_view value) noexcept {
    std::memcpy(at_, value.data(), value.size());
    at_ += value.size();
    return *this;
  }
  Body& digits(std::uint64_t value) noexcept {
    at_ = std::to_chars(at_, at_ + 20, value).ptr;
    return *this;
  }
  Body& text(std::string_view value) noexcept { return part(value).end(); }
  Body& number(std::uint64_t value) noexcept { return digits(value).end(); }
  // The peer's own text of an id, if it has one.
  Body& id(std::uint64_t number_of_ours, std::string_view own) noexcept {
    return own.empty() ? number(number_of_ours) : text(own.substr(0, kClOrdIdMax));
  }
  Body& price(Price value) noexcept {
    decimal(value);
    return end();
  }
  // Six decimals where four do not say it.
  Body& executed_price(Price value, std::uint8_t hundredths) noexcept {
    decimal(value);
    if (hundredths == 0) return end();
    put_digits(at_, hundredths % 100u, 2);
    at_ += 2;
    return end();
  }
  // Six decimals.
  Body& millionths(std::int64_t value) noexcept {
    constexpr std::uint64_t kUnit = 1'000'000;
    const auto size = value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value)
                                : static_cast<std::uint64_t>(value);
    if (value < 0) *at_++ = '-';
    at_ = std::to_chars(at_, at_ + 20, size / kUnit).ptr;
    *at_ = '.';
    put_digits(at_ + 1, size % kUnit, 6);
    at_ += 7;
    return end();
  }
  void decimal(Price value) noexcept {
    const auto scaled = static_cast<std::uint64_t>(value.value < 0 ? 0 : value.value);
    at_ = std::to_chars(at_, at_ + 20, scaled / kPriceScale).ptr;
    *at_ = '.';
    put_digits(at_ + 1, scaled % kPriceScale, 4);
    at_ += 5;
  }
  Body& character(char value) noexcept {
    *at_++ = value;
    return end();
  }
  template <class Message>
  Body& symbol_and_side(const Message& message) noexcept {
    return raw("55=")
        .text(symbol_of(message))
        .raw("54=")
        .character(static_cast<char>('0' + static_cast<int>(message.side)));
  }
  // OrderID: "NONE" of an order that the venue does not know (Order Cancel Reject, both versions).
  Body& venue_id(std::uint64_t id) noexcept {
    return id == 0 ? raw("37=NONE\x01") : raw("37=").number(id);
  }
  Body& route(const Route& route) noexcept {
    const auto put = [this](const char(&tag)[5], std::string_view value) {
      if (!value.empty() && value.size() <= kCompIdMax) raw(tag).text(value);
    };
    put("115=", route.from_comp);
    put("116=", route.from_sub);
    put("144=", route.from_location);
    put("128=", route.to_comp);
    put("129=", route.to_sub);
    put("145=", route.to_location);
    return *this;
  }
  // Fields of a mass status answer, in the room of 41, 790, 31 and 32, which such a report lacks.
  Body& mass_status(const ExecutionReport& message) noexcept {
    raw("584=").text(message.mass_status_id.substr(0, kClOrdIdMax));
    raw("911=").number(message.reports_total);
    return raw("912=").character(message.last_report ? 'Y' : 'N');
  }
  // Which orders a mass cancel is about.
  template <class Message>
  Body& scope(const Message& message) noexcept {
    if (const auto symbol = symbol_of(message); !symbol.empty()) raw("55=").text(symbol);
    return message.side == 0 ? *this : raw("54=").character(message.side);
  }
  Body& time(const char* now) noexcept { return raw("60=").text({now, UtcText::kLength}); }
  Body& free_text(std::string_view value) noexcept {
    return value.empty() ? *this : raw("58=").text(value.substr(0, kTextMax));
  }
  template <class Message>
  Body& terms(const Message& message) noexcept {
    raw("38=")
        .number(message.order_qty)
        .raw("40=")
        .character(static_cast<char>('0' + static_cast<int>(message.type)));
    const bool capped = message.type == OrderType::kPegged && message.price.value != 0;
    if (has_limit(message.type) || capped) raw("44=").price(message.price);
    if (has_stop(message.type)) raw("99=").price(message.stop_price);
    return raw("59=").character(static_cast<char>('0' + static_cast<int>(message.time_in_force)));
  }
  // What a new order and each of its replacements say beyond price and size.
  template <class Message>
  void special_terms(const Message& message) noexcept {
    const bool pegged = message.type == OrderType::kPegged;
    if (pegged || message.post_only)
      raw("18=").text(!pegged ? "6" : message.post_only ? "R 6" : "R");
    if (message.min_qty != 0) raw("110=").number(message.min_qty);
    if (message.max_floor != 0) raw("111=").number(message.max_floor);
  }
  char* at() const noexcept { return at_; }

 private:
  template <class Message>
  static std::string_view symbol_of(const Message& message) noexcept {
    return message.symbol_text.empty() ? message.symbol.view()
                                       : message.symbol_text.substr(0, kSymbolMax);
  }
  Body& end() noexcept {
    *at_++ = kSoh;
    return *this;
  }
  char* at_;
};

Encoder::Encoder(std::string_view sender, std::string_view target, Version version) noexcept
    : version_(version) {
  TICKPATH_CHECK(sender.size() <= kCompIdMax && target.size() <= kCompIdMax, "CompID too long");
  Body body(header_);
  std::memcpy(header_, kPrefix.data(), kPrefix.size());
  header_[kMinorVersionAt] = begin_string(version).back();
  body = Body(header_ + kPrefix.size());
  body.text(sender).raw("56=").text(target).raw("34=");
  seq_at_ = static_cast<std::size_t>(body.at() - header_);
  body.text("000000000").raw("52=");
  time_at_ = static_cast<std::size_t>(body.at() - header_);
  body.text("00000000-00:00:00.000");
  header_bytes_ = static_cast<std::size_t>(body.at() - header_);
}

char* Encoder::begin(char* out, char msg_type, std::uint32_t seq, const char* now) const noexcept {
  std::memcpy(out, header_, sizeof(header_));  // a constant size: a handful of vector moves
  out[kMsgTypeAt] = msg_type;
  put_digits(out + seq_at_, seq, kSeqDigits);
  std::memcpy(out + time_at_, now, UtcText::kLength);
  return out + header_bytes_;
}

std::size_t Encoder::finish(char* out, char* end) noexcept {
  const auto length = static_cast<std::size_t>(end - out);
  put_digits(out + kBodyLengthAt, length - kBodyAt, kBodyLengthDigits);
  std::memcpy(end, "10=", 3);
  put_digits(end + 3, checksum({out, length}), 3);
  end[6] = kSoh;
  return length + 7;
}

std::size_t Encoder::encode(char* out, const NewOrderSingle& message, std::uint32_t seq,
                            const char* now) const noexcept {
  Body body(begin(out, 'D', seq, now));
  body.raw("11=").id(message.cl_ord_id, message.cl_ord_id_text).raw("21=1\x01");
  body.symbol_and_side(message).time(now).terms(message);
  body.special_terms(message);
  return finish(out, body.at());
}

std::size_t Encoder::encode(char* out, const OrderCancelRequest& message, std::uint32_t seq,
                            const char* now) const noexcept {
  Body body(begin(out, 'F', seq, now));
  body.raw("41=").id(message.orig_cl_ord_id, message.orig_cl_ord_id_text);
  body.raw("11=").id(message.cl_ord_id, message.cl_ord_id_text);
  body.symbol_and_side(message).time(now);
  body.raw("38=").number(message.order_qty);
  return finish(out, body.at());
}

std::size_t Encoder::encode(char* out, const OrderCancelReplaceRequest& message, std::uint32_t seq,
                            const char* now) const noexcept {
  Body body(begin(out, 'G', seq, now));
  body.raw("41=").id(message.orig_cl_ord_id, message.orig_cl_ord_id_text);
  body.raw("11=").id(message.cl_ord_id, message.cl_ord_id_text);
  body.raw("21=1\x01").symbol_and_side(message).time(now).terms(message);
  body.special_terms(message);
  return finish(out, body.at());
}

std::size_t Encoder::encode(char* out, const OrderStatusRequest& message, std::uint32_t seq,
                            const char* now) const noexcept {
  Body body(begin(out, 'H', seq, now));
  body.raw("11=").id(message.cl_ord_id, message.cl_ord_id_text);
  if (version_ == Version::k44 && !message.request_id.empty())
    body.raw("790=").text(message.request_id.substr(0, kClOrdIdMax));
  body.symbol_and_side(message);
  return finish(out, body.at());
}

std::size_t Encoder::encode(char* out, const OrderMassCancelRequest& message, std::uint32_t seq,
                            const char* now) const noexcept {
  Body body(begin(out, 'q', seq, now));
  body.raw("11=").id(message.cl_ord_id, message.cl_ord_id_text).raw("530=").character(message.type);
  body.scope(message).time(now);
  return finish(out, body.at());
}

std::size_t Encoder::encode(char* out, const OrderMassCancelReport& message, std::uint32_t seq,
                            const char* now) const noexcept {
  Body body(begin(out, 'r', seq, now));
  if (message.route != nullptr) body.route(*message.route);
  const bool refused = message.reason != MassCancelRejectReason::kNone;
  body.raw("11=").id(message.cl_ord_id, message.cl_ord_id_text);
  body.raw("37=").number(message.order_id);
  body.raw("530=").character(message.type).raw("531=").character(refused ? '0' : message.type);
  if (refused) body.raw("532=").number(static_cast<std::uint64_t>(message.reason));
  body.raw("533=").number(message.affected).scope(message).time(now).free_text(message.text);
  return finish(out, body.at());
}

// FIX 4.2 has the status Replaced, below all of an order that has traded (vol. 4, Execution Report,
// the precedence of OrdStatus); FIX 4.4 does without it.
char Encoder::status_of(const ExecutionReport& message) const noexcept {
  const bool replaced = version_ == Version::k42 && message.exec_type == ExecType::kReplaced &&
                        message.ord_status == OrdStatus::kNew;
  return static_cast<char>(replaced ? OrdStatus::kReplaced : message.ord_status);
}

std::size_t Encoder::encode(char* out, const ExecutionReport& message, std::uint32_t seq,
                            const char* now) const noexcept {
  Body body(begin(out, '8', seq, now));
  if (message.route != nullptr) [[unlikely]]
    body.route(*message.route);
  body.venue_id(message.order_id);
  if (message.cl_ord_id != 0 || !message.cl_ord_id_text.empty()) [[likely]]
    body.raw("11=").id(message.cl_ord_id, message.cl_ord_id_text);
  if (message.orig_cl_ord_id != 0 || !message.orig_cl_ord_id_text.empty())
    body.raw("41=").id(message.orig_cl_ord_id, message.orig_cl_ord_id_text);
  if (!message.account.empty()) body.raw("1=").text(message.account.substr(0, kAccountMax));
  body.raw("17=").number(message.exec_id);
  const bool v44 = version_ == Version::k44;
  if (v44 && !message.status_request_id.empty())
    body.raw("790=").text(message.status_request_id.substr(0, kClOrdIdMax));
  if (v44 && !message.mass_status_id.empty()) [[unlikely]]
    body.mass_status(message);
  if (!v44) body.raw("20=").character(transaction_of(message));
  if (message.trade_change != TradeChange::kNone) [[unlikely]]
    body.raw("19=").number(message.exec_ref_id);
  char exec_type = static_cast<char>(message.exec_type);
  if (v44 && (exec_type == '1' || exec_type == '2')) exec_type = 'F';
  if (v44 && message.trade_change != TradeChange::kNone)
    exec_type = message.trade_change == TradeChange::kCanceled ? 'H' : 'G';
  if (message.status) exec_type = v44 ? 'I' : static_cast<char>(message.ord_status);
  const bool triggered = message.exec_type == ExecType::kTriggered;
  if (triggered) exec_type = static_cast<char>(ExecType::kRestated);
  body.raw("150=").character(exec_type);
  body.raw("39=").character(status_of(message));
  // ExecRestatementReason, both versions: 5, partial decline of OrderQty; 4, broker option.
  if (message.exec_type == ExecType::kRestated) body.raw("378=5\x01");
  if (triggered)
    body.raw(
            "378=4\x01"
            "40=")
        .character(static_cast<char>('0' + static_cast<unsigned>(message.order_type)));
  if (message.exec_type == ExecType::kRejected)
    body.raw("103=").number(static_cast<std::uint64_t>(message.reject_reason));
  body.symbol_and_side(message);
  if (message.order_qty != 0) body.raw("38=").number(message.order_qty);
  if (message.price.value != 0) body.raw("44=").price(message.price);
  if (message.last_shares != 0)
    body.raw("32=")
        .number(message.last_shares)
        .raw("31=")
        .executed_price(message.last_price, message.last_price_hundredths);
  if (message.has_commission) {
    body.raw("12=").millionths(message.commission_millionths).raw("13=3\x01");
    // FIX 4.2 has no such field.
    if (v44 && message.liquidity != 0)
      body.raw("851=").character(static_cast<char>('0' + message.liquidity));
  }
  body.raw("151=").number(message.leaves_qty).raw("14=").number(message.cum_qty);
  body.raw("6=").price(message.average_price).time(now);
  body.free_text(message.text.substr(0, text_room(out, body.at())));
  return finish(out, body.at());
}

std::size_t Encoder::encode(char* out, const OrderCancelReject& message, std::uint32_t seq,
                            const char* now) const noexcept {
  Body body(begin(out, '9', seq, now));
  if (message.route != nullptr) [[unlikely]]
    body.route(*message.route);
  body.venue_id(message.order_id).raw("11=").id(message.cl_ord_id, message.cl_ord_id_text);
  body.raw("41=").id(message.orig_cl_ord_id, message.orig_cl_ord_id_text);
  body.raw("39=").character(static_cast<char>(message.ord_status));
  body.time(now).raw("434=").character(message.of_replace ? '2' : '1');
  body.raw("102=").number(static_cast<std::uint64_t>(message.reason)).free_text(message.text);
  return finish(out, body.at());
}

std::size_t Encoder::encode_heartbeat(char* out, std::string_view test_request_id,
                                      std::uint32_t seq, const char* now) const noexcept {
  Body body(begin(out, '0', seq, now));
  if (!test_request_id.empty()) body.raw("112=").text(test_request_id.substr(0, kTextMax));
  return finish(out, body.at());
}

std::size_t Encoder::encode_logout(char* out, std::string_view text, std::uint32_t seq,
                                   const char* now) const noexcept {
  Body body(begin(out, '5', seq, now));
  body.free_text(text);
  return finish(out, body.at());
}

std::size_t Encoder::encode_reject(char* out, const Refusal& refusal, std::uint32_t seq,
                                   const char* now) const noexcept {
  Body body(begin(out, '3', seq, now));
  body.route(refusal.route).raw("45=").number(refusal.seq_num);
  if (refusal.tag != 0 && refusal.reason != SessionRejectReason::kMsgType)
    body.raw("371=").number(refusal.tag);
  if (refusal.tag == 0 && !refusal.number.empty()) body.raw("371=").text(refusal.number);
  if (!refusal.msg_type.empty()) body.raw("372=").text(refusal.msg_type.substr(0, 2));
  // FIX 4.2 knows the reasons up to 11; the text has the others.
  if (version_ == Version::k44 || refusal.reason <= SessionRejectReason::kMsgType)
    body.raw("373=").number(static_cast<std::uint64_t>(refusal.reason));
  body.free_text(refusal.text.empty() ? describe(refusal.reason) : refusal.text);
  return finish(out, body.at());
}

bool is_routed(const Fields& fields) noexcept {
  return fields.has(115) || fields.has(116) || fields.has(144) || fields.has(128) ||
         fields.has(129) || fields.has(145);
}

Route route_back(const Fields& fields) noexcept {
  return {.from_comp = fields.get(128),
          .from_sub = fields.get(129),
          .from_location = fields.get(145),
          .to_comp = fields.get(115),
          .to_sub = fields.get(116),
          .to_location = fields.get(144)};
}

std::size_t Encoder::encode_business_reject(char* out, const BusinessRefusal& refusal,
                                            std::uint32_t seq, const char* now) const noexcept {
  Body body(begin(out, 'j', seq, now));
  body.route(refusal.route)
      .raw("45=")
      .number(refusal.seq_num)
      .raw("372=")
      .text(refusal.msg_type.substr(0, 2));
  if (!refusal.id.empty() && refusal.id.size() <= kRefIdMax) body.raw("379=").text(refusal.id);
  body.raw("380=").number(static_cast<std::uint64_t>(refusal.reason));
  if (refusal.tag == 0) {
    body.free_text(refusal.text);
  } else {
    body.raw("58=").part(refusal.text.substr(0, kTextMax)).raw(" (").digits(refusal.tag);
    body.raw(")\x01");
  }
  return finish(out, body.at());
}

std::size_t Encoder::encode_again(char* out, std::string_view message,
                                  const char* now) const noexcept {
  std::memcpy(out, header_, kBodyAt);
  Body body(out + kBodyAt);
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = message.find(kSoh, at);
    if (end == std::string_view::npos) break;  // not one of ours
    const std::string_view field = message.substr(at, end - at);
    const std::string_view tag = field.substr(0, field.find('=') + 1);
    at = end + 1;
    if (tag == "52=")
      body.raw(
              "43=Y\x01"
              "52=")
          .text({now, UtcText::kLength})
          .raw("122=")
          .text(field.substr(tag.size()));
    else if (tag != "8=" && tag != "9=" && tag != "10=")
      body.text(field);
  }
  return finish(out, body.at());
}

std::size_t Encoder::encode_renumbered(char* out, std::string_view message, std::uint32_t seq,
                                       const char* now) const noexcept {
  Body body(begin(out, '0', seq, now));
  detail::for_each_raw_field(message, [&](const detail::RawField& field) {
    constexpr std::uint32_t kOfHeader[] = {8, 9, 10, 34, 49, 52, 56};
    if (field.tag == 35)
      out[kMsgTypeAt] = field.value.front();
    else if (std::find(std::begin(kOfHeader), std::end(kOfHeader), field.tag) ==
             std::end(kOfHeader))
      body.part(field.text);
  });
  return finish(out, body.at());
}

// OrigSendingTime: nobody knows any more when each of them was sent; FIX 4.4, vol. 2, asks for one.
std::size_t Encoder::encode_gap_fill(char* out, std::uint32_t seq, std::uint32_t next,
                                     const char* now) const noexcept {
  Body body(begin(out, '4', seq, now));
  body.raw(
          "43=Y\x01"
          "122=")
      .text({now, UtcText::kLength})
      .raw(
          "123=Y\x01"
          "36=")
      .number(next);
  return finish(out, body.at());
}

std::string_view describe(SessionRejectReason reason) noexcept {
  using enum SessionRejectReason;
  return name_in(reason,
                 {{kInvalidTag, "Invalid tag number"},
                  {kRequiredTagMissing, "Required tag missing"},
                  {kTagNotOfMessage, "Tag not defined for this message type"},
                  {kUndefinedTag, "Undefined tag"},
                  {kNoValue, "Tag specified without a value"},
                  {kBadValue, "Value is incorrect (out of range) for this tag"},
                  {kBadFormat, "Incorrect data format for value"},
                  {kCompId, "CompID problem"},
                  {kSendingTime, "SendingTime accuracy problem"},
                  {kMsgType, "Invalid MsgType"},
                  {kTagTwice, "Tag appears more than once"},
                  {kTagOutOfOrder, "Tag specified out of required order"},
                  {kGroupOutOfOrder, "Repeating group fields out of order"},
                  {kGroupCount, "Incorrect NumInGroup count for repeating group"}},
                 "");
}

}  // namespace tickpath::fix
