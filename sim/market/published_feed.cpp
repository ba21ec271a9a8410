#include "sim/market/published_feed.hpp"

#include <array>
#include <cstring>

namespace tickpath::sim {
namespace {

using itch::detail::load_big_endian;
using itch::detail::store_big_endian;

// Offsets that the messages about an order share (TotalView-ITCH 5.0, 1.3 and 1.4).
constexpr std::size_t kReference = 11;
constexpr std::size_t kExecutedShares = 19;  // E, C, X
constexpr std::size_t kAddedShares = 20;     // A, F
constexpr std::size_t kReplacedShares = 27;  // U
constexpr std::size_t kNewReference = 19;    // U

bool is_ours(std::uint64_t number) noexcept { return (number & kOwnNumbers) != 0; }

// Cross types of 1.5.2 and 1.6.
char code_of(CrossKind kind) noexcept {
  return kind == CrossKind::kOpening ? 'O' : kind == CrossKind::kClosing ? 'C' : 'H';
}

// 1.6, Price Variation Indicator: by how many per cent the near price is off the reference price.
char variation(std::uint32_t near_price, std::uint32_t reference) noexcept {
  if (near_price == 0 || reference == 0) return ' ';
  const std::uint64_t distance =
      near_price > reference ? near_price - reference : reference - near_price;
  const std::uint64_t per_cent = distance * 100 / reference;
  if (per_cent == 0) return 'L';
  if (per_cent < 10) return static_cast<char>('0' + per_cent);
  return per_cent < 20 ? 'A' : per_cent < 30 ? 'B' : 'C';
}

// Whether a message names an order by a number that only our orders have.
bool names_ours(std::span<const std::byte> message) noexcept {
  // One look at the top bits, which in other messages are of text or of small numbers: nearly every
  // message ends here, without a branch on its type.
  const auto high = [&](std::size_t at) {
    return at < message.size() && (message[at] & std::byte{0x80}) != std::byte{0};
  };
  if (!high(kReference) && !high(kNewReference)) [[likely]]
    return false;
  const auto reference = [&](std::size_t at) {
    return load_big_endian<std::uint64_t>(message.data() + at);
  };
  switch (itch::message_type(message.data())) {
    case itch::OrderReplace::kType:
      if (message.size() == itch::OrderReplace::kLength && is_ours(reference(kNewReference)))
        return true;
      [[fallthrough]];
    case itch::AddOrder::kType:
    case itch::AddOrderMpid::kType:
    case itch::OrderExecuted::kType:
    case itch::OrderExecutedWithPrice::kType:
    case itch::OrderCancel::kType:
    case itch::OrderDelete::kType:
      return message.size() >= kReference + sizeof(std::uint64_t) && is_ours(reference(kReference));
    default:
      return false;
  }
}

}  // namespace

bool PublishedFeed::begin(std::span<const std::byte> message) noexcept {
  if (names_ours(message)) [[unlikely]] {
    counters_.own_number.add();
    return false;
  }
  recorded_ = message;
  told_ = false;
  if (message.size() >= itch::kHeaderBytes) time_ns_ = itch::timestamp_ns(message.data());
  return true;
}

void PublishedFeed::finish() noexcept {
  if (told_) return;
  told_ = true;
  outlet_.publish(recorded_);
}

// ---------------------------------------------------------------------- recorded messages

void PublishedFeed::on_recorded(const RecordedChange& change) noexcept {
  if (told_) return;  // an event of ours, which no message stands for
  told_ = true;
  if (change.touched) [[unlikely]]
    send_bent(change);
  else
    outlet_.publish(recorded_);
}

// What has been taken of the order is not on the feed: the message tells of the rest, if there is
// any. Only messages about an order come here.
void PublishedFeed::send_bent(const RecordedChange& change) noexcept {
  const std::uint32_t gone = change.before - change.after;  // of E, C and X
  switch (itch::message_type(recorded_.data())) {
    case itch::AddOrder::kType:
    case itch::AddOrderMpid::kType:
      return send_with_shares(kAddedShares, change.after);
    case itch::OrderExecuted::kType:
    case itch::OrderExecutedWithPrice::kType:
      return send_with_shares(kExecutedShares, gone);
    case itch::OrderCancel::kType:
      if (gone == 0 || change.after != 0) return send_with_shares(kExecutedShares, gone);
      break;  // a partial cancel that leaves nothing is a delete
    case itch::OrderReplace::kType:
      if (change.after != 0) return send_replacement(change);
      break;
    case itch::CrossTrade::kType:
      return send_joined_cross(change.added);
    default:  // D
      if (change.before == 0) break;
      outlet_.publish(recorded_);
      return;
  }
  if (change.before == 0) {
    counters_.withheld.add();
    return;
  }
  itch::OrderDelete message;
  message.order_reference_number = load_big_endian<std::uint64_t>(recorded_.data() + kReference);
  send_in_place(message);
}

itch::AddOrder PublishedFeed::added(std::uint64_t reference, std::uint32_t locate, Side side,
                                    std::uint32_t shares, std::uint32_t price) const noexcept {
  itch::AddOrder message;
  message.order_reference_number = reference;
  message.buy_sell_indicator = itch::indicator_of(side);
  message.shares = shares;
  message.stock = stock(locate);
  message.price = price;
  return message;
}

// The new order has shares left. Where nothing of the old one was left, it is one more.
void PublishedFeed::send_replacement(const RecordedChange& change) noexcept {
  const std::byte* bytes = recorded_.data();
  if (change.before != 0) return send_with_shares(kReplacedShares, change.after);
  const auto replace = itch::decode_as<itch::OrderReplace>(bytes);
  send_in_place(added(replace.new_order_reference_number, change.locate, change.side, change.after,
                      replace.price));
}

// The recorded message with other shares.
void PublishedFeed::send_with_shares(std::size_t offset, std::uint32_t shares) noexcept {
  if (shares == 0) {
    counters_.withheld.add();
    return;
  }
  std::array<std::byte, itch::kMaxMessageBytes> buffer;
  std::memcpy(buffer.data(), recorded_.data(), recorded_.size());
  if (load_big_endian<std::uint32_t>(buffer.data() + offset) != shares) counters_.amended.add();
  store_big_endian(buffer.data() + offset, shares);
  outlet_.publish(std::span(buffer).first(recorded_.size()));
}

// A recorded cross in which orders of ours have traded, too.
void PublishedFeed::send_joined_cross(std::uint64_t added) noexcept {
  auto message = itch::decode_as<itch::CrossTrade>(recorded_.data());
  message.shares += added;
  send_in_place(message);
}

// Another message in place of the recorded one, with its header.
template <class Message>
void PublishedFeed::send_in_place(Message message) noexcept {
  std::array<std::byte, itch::kMaxMessageBytes> buffer;
  const std::size_t length = itch::encode(message, buffer.data());
  std::memcpy(buffer.data() + 1, recorded_.data() + 1, itch::kHeaderBytes - 1);
  counters_.amended.add();
  outlet_.publish(std::span(buffer).first(length));
}

// ---------------------------------------------------------------------- messages of our own

template <class Message>
void PublishedFeed::send(Message message, std::uint32_t instrument) noexcept {
  message.header = {static_cast<std::uint16_t>(symbols_.locate_of(instrument)), 0, time_ns_};
  std::array<std::byte, itch::kMaxMessageBytes> buffer;
  counters_.own.add();
  outlet_.publish(std::span(buffer).first(itch::encode(message, buffer.data())));
}

void PublishedFeed::on_trade(const DisplayedTrade& trade) noexcept {
  if (!trade.in_cross) {
    itch::OrderExecuted message;
    message.order_reference_number = trade.reference;
    message.executed_shares = trade.shares;
    message.match_number = next_match();
    return send(message, trade.locate);
  }
  itch::OrderExecutedWithPrice message;
  message.order_reference_number = trade.reference;
  message.executed_shares = trade.shares;
  message.match_number = next_match();
  message.printable = 'N';  // the cross message counts the volume (1.4.2)
  message.execution_price = trade.price;
  send(message, trade.locate);
}

void PublishedFeed::on_cross(const CrossTold& cross) noexcept {
  itch::CrossTrade message;
  message.shares = cross.shares;
  message.stock = stock(cross.locate);
  message.cross_price = cross.price;
  message.match_number = next_match();
  message.cross_type = code_of(cross.kind);
  send(message, cross.locate);
}

void PublishedFeed::tell_imbalance(Locate locate, CrossKind kind,
                                   const Imbalance& imbalance) noexcept {
  const AuctionOutcome& at = imbalance.at_reference;
  itch::NetOrderImbalanceIndicator message;
  message.paired_shares = at.paired_shares;
  message.imbalance_shares = at.imbalance_shares;
  message.imbalance_direction = at.paired_shares + at.imbalance_shares == 0 ? 'O'
                                : at.imbalance_shares == 0                  ? 'N'
                                : at.imbalance_side == Side::kBuy           ? 'B'
                                                                            : 'S';
  message.stock = stock(locate);
  message.far_price = imbalance.far_price;
  message.near_price = imbalance.near_price;
  message.current_reference_price = at.price;
  message.cross_type = code_of(kind);
  message.price_variation_indicator = variation(imbalance.near_price, at.price);
  send(message, locate);
}

void PublishedFeed::on_shown(const LiveOrder& order, const ShownOrder& shown,
                             std::uint64_t replaced) noexcept {
  if (replaced != 0) {
    itch::OrderReplace message;
    message.original_order_reference_number = replaced;
    message.new_order_reference_number = shown.reference;
    message.shares = shown.shares;
    message.price = order.price;
    return send(message, order.locate);
  }
  send(added(shown.reference, order.locate, order.side, shown.shares, order.price), order.locate);
}

void PublishedFeed::on_shown_less(Locate locate, std::uint64_t reference,
                                  std::uint32_t shares) noexcept {
  itch::OrderCancel message;
  message.order_reference_number = reference;
  message.cancelled_shares = shares;
  send(message, locate);
}

void PublishedFeed::on_hidden(Locate locate, std::uint64_t reference) noexcept {
  itch::OrderDelete message;
  message.order_reference_number = reference;
  send(message, locate);
}

}  // namespace tickpath::sim
