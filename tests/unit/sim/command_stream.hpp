// What can happen to a market, as values: a stream of them runs against the matching core and
// against the reference, and prints as the C++ that makes it, so that it can be pasted into a test.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "sim/matching/matcher.hpp"

namespace tickpath::sim {

struct Add {
  Locate locate = 1;
  std::uint64_t reference = 0;
  Side side = Side::kBuy;
  std::uint32_t shares = 0;
  std::uint32_t price = 0;
};
struct Execute {
  std::uint64_t reference = 0;
  std::uint32_t shares = 0;
};
struct ExecuteAt {
  std::uint64_t reference = 0;
  std::uint32_t shares = 0;
  std::uint32_t price = 0;
  bool printable = true;
};
struct Reduce {
  std::uint64_t reference = 0;
  std::uint32_t shares = 0;
};
struct Delete {
  std::uint64_t reference = 0;
};
struct ReplaceRecorded {
  std::uint64_t reference = 0;
  std::uint64_t new_reference = 0;
  std::uint32_t shares = 0;
  std::uint32_t price = 0;
};
struct HiddenTrade {
  Locate locate = 1;
  std::uint32_t shares = 0;
  std::uint32_t price = 0;
};
struct State {
  Locate locate = 1;
  wire::TradingState state = wire::TradingState::kTrading;
};
struct Cross {  // of our own
  Locate locate = 1;
  CrossKind kind = CrossKind::kOpening;
};
struct RecordedImbalance {
  Locate locate = 1;
  CrossKind kind = CrossKind::kOpening;
  Side side = Side::kBuy;
  std::uint32_t shares = 0;
};
struct RecordedCross {
  Locate locate = 1;
  CrossKind kind = CrossKind::kOpening;
  std::uint32_t price = 0;
};
struct Close {};
struct BeginDay {};

using StreamCommand =
    std::variant<Add, Execute, ExecuteAt, Reduce, Delete, ReplaceRecorded, HiddenTrade, State,
                 Cross, RecordedImbalance, RecordedCross, Close, BeginDay, NewOrder, CancelOrder,
                 ReplaceOrder, MassCancel>;
using Stream = std::vector<StreamCommand>;

// Applies one command to a Matcher or a ReferenceMarket: both have the same face.
template <class Market>
struct Apply {
  Market& market;
  void operator()(const Add& c) const {
    market.on_add(c.locate, c.reference, c.side, c.shares, c.price);
  }
  void operator()(const Execute& c) const { market.on_execute(c.reference, c.shares); }
  void operator()(const ExecuteAt& c) const {
    market.on_execute_at(c.reference, c.shares, c.price, c.printable);
  }
  void operator()(const Reduce& c) const { market.on_reduce(c.reference, c.shares); }
  void operator()(const Delete& c) const { market.on_delete(c.reference); }
  void operator()(const ReplaceRecorded& c) const {
    market.on_replace(c.reference, c.new_reference, c.shares, c.price);
  }
  void operator()(const HiddenTrade& c) const {
    market.on_hidden_trade(c.locate, c.shares, c.price);
  }
  void operator()(const State& c) const { market.on_trading_state(c.locate, c.state); }
  void operator()(const Cross& c) const { market.cross(c.locate, c.kind); }
  void operator()(const RecordedImbalance& c) const {
    market.on_imbalance(c.locate, c.kind, c.side, c.shares);
  }
  void operator()(const RecordedCross& c) const { market.on_cross(c.locate, c.kind, c.price); }
  void operator()(const Close&) const { market.close(); }
  // With every instrument of the one before.
  void operator()(const BeginDay&) const {
    market.begin_day();
    if constexpr (requires { market.list(Locate{}); })
      for (Locate locate = 0; locate < 8; ++locate) market.list(locate);
  }
  void operator()(const NewOrder& c) const { market.enter(c); }
  void operator()(const CancelOrder& c) const { market.cancel(c); }
  void operator()(const ReplaceOrder& c) const { market.replace(c); }
  void operator()(const MassCancel& c) const { market.cancel_all(c); }
};
template <class Market>
void apply(Market& market, const StreamCommand& command) {
  std::visit(Apply<Market>{market}, command);
}

// ---------------------------------------------------------------------- printing

class Printer {
 public:
  std::string text(const StreamCommand& command) {
    out_.str("");
    std::visit(*this, command);
    return out_.str();
  }
  void operator()(const Add& c) {
    begin("Add", c.locate, c.reference)
        << ", " << of(c.side) << ", " << c.shares << ", " << c.price << "}";
  }
  void operator()(const Execute& c) { begin("Execute", c.reference, c.shares) << "}"; }
  void operator()(const ExecuteAt& c) {
    begin("ExecuteAt", c.reference, c.shares)
        << ", " << c.price << ", " << (c.printable ? "true" : "false") << "}";
  }
  void operator()(const Reduce& c) { begin("Reduce", c.reference, c.shares) << "}"; }
  void operator()(const Delete& c) { out_ << "Delete{" << c.reference << "}"; }
  void operator()(const ReplaceRecorded& c) {
    begin("ReplaceRecorded", c.reference, c.new_reference)
        << ", " << c.shares << ", " << c.price << "}";
  }
  void operator()(const HiddenTrade& c) {
    begin("HiddenTrade", c.locate, c.shares) << ", " << c.price << "}";
  }
  void operator()(const State& c) {
    out_ << "State{" << c.locate << ", wire::TradingState{" << int(c.state) << "}}";
  }
  void operator()(const Cross& c) {
    out_ << "Cross{" << c.locate << ", CrossKind{" << int(c.kind) << "}}";
  }
  void operator()(const RecordedImbalance& c) {
    out_ << "RecordedImbalance{" << c.locate << ", CrossKind{" << int(c.kind) << "}, " << of(c.side)
         << ", " << c.shares << "}";
  }
  void operator()(const RecordedCross& c) {
    out_ << "RecordedCross{" << c.locate << ", CrossKind{" << int(c.kind) << "}, " << c.price
         << "}";
  }
  void operator()(const Close&) { out_ << "Close{}"; }
  void operator()(const BeginDay&) { out_ << "BeginDay{}"; }
  void operator()(const NewOrder& c) {
    out_ << "NewOrder{.order_id = " << c.order_id;
    price(".price", c.price);
    price(".stop_price", c.stop_price);
    out_ << ", .locate = " << c.locate << ", .shares = " << c.shares;
    if (c.display_shares != 0) out_ << ", .display_shares = " << c.display_shares;
    if (c.minimum_shares != 0) out_ << ", .minimum_shares = " << c.minimum_shares;
    party(c.party);
    out_ << ", .side = " << of(c.side) << ", .type = OrderType{" << int(c.type)
         << "}, .time_in_force = TimeInForce{" << int(c.time_in_force) << "}";
    if (c.post_only) out_ << ", .post_only = true";
    out_ << "}";
  }
  void operator()(const CancelOrder& c) {
    change("CancelOrder", c) << ", .locate = " << c.locate;
    party(c.party);
    out_ << ", .side = " << of(c.side) << "}";
  }
  void operator()(const ReplaceOrder& c) {
    change("ReplaceOrder", c);
    price(".price", c.price);
    price(".stop_price", c.stop_price);
    out_ << ", .locate = " << c.locate << ", .shares = " << c.shares;
    party(c.party);
    out_ << ", .side = " << of(c.side) << ", .type = OrderType{" << int(c.type) << "}}";
  }
  void operator()(const MassCancel& c) {
    begin("MassCancel", int{c.session}, int{c.strategy})
        << ", " << c.locate << ", " << (c.buys ? "true" : "false") << ", "
        << (c.sells ? "true" : "false") << "}";
  }

 private:
  static const char* of(Side side) { return side == Side::kBuy ? "Side::kBuy" : "Side::kSell"; }
  template <class A, class B>
  std::ostream& begin(const char* name, A a, B b) {
    return out_ << name << "{" << a << ", " << b;
  }
  template <class Change>
  std::ostream& change(const char* name, const Change& c) {
    return out_ << name << "{.order_id = " << c.order_id
                << ", .target_order_id = " << c.target_order_id;
  }
  void price(const char* name, Price price) {
    if (price.value != 0) out_ << ", " << name << " = {" << price.value << "}";
  }
  void party(Party party) {
    out_ << ", .party = {" << int{party.session} << ", " << int{party.strategy} << "}";
  }
  std::ostringstream out_;
};

inline std::string print(const Stream& stream) {
  Printer printer;
  std::string text = "const Stream stream{\n";
  for (const StreamCommand& command : stream) text += "    " + printer.text(command) + ",\n";
  return text + "};\n";
}

// ---------------------------------------------------------------------- minimising

// Drops commands, in halves first and one by one in the end, as long as `fails` still holds of what
// is left (delta debugging, Zeller and Hildebrandt 2002, without the complements).
template <class Fails>
Stream minimised(Stream stream, const Fails& fails) {
  for (std::size_t chunk = (stream.size() + 1) / 2; chunk != 0;) {
    bool dropped = false;
    for (std::size_t at = 0; at < stream.size();) {
      Stream fewer(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(at));
      const std::size_t end = std::min(at + chunk, stream.size());
      fewer.insert(fewer.end(), stream.begin() + static_cast<std::ptrdiff_t>(end), stream.end());
      if (fails(fewer)) {
        stream = std::move(fewer);
        dropped = true;
      } else {
        at = end;
      }
    }
    if (!dropped || chunk > 1) chunk /= 2;
  }
  return stream;
}

}  // namespace tickpath::sim
