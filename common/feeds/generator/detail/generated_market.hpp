// The market behind itch::Generator: symbols, their books, and the frame of the day. What happens
// in between is in generated_events.cpp, when it happens in hawkes.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/random.hpp"
#include "common/feeds/generator/detail/generated_book.hpp"
#include "common/feeds/generator/detail/generated_clock.hpp"
#include "common/feeds/generator/detail/hawkes.hpp"
#include "common/feeds/generator/detail/shared_market.hpp"
#include "common/feeds/generator/generator.hpp"
#include "common/feeds/itch/codec.hpp"

namespace tickpath::itch::detail {

// A tick is a cent, 100 of Price(4).
constexpr std::uint32_t price_of(std::uint32_t ticks) noexcept { return ticks * 100; }

struct GeneratedSymbol {
  Stock stock{};
  std::uint16_t locate = 0;
  std::uint32_t fair_ticks = 0;    // what the symbol is worth, in cents: a random walk
  std::uint32_t spread_ticks = 1;  // that its makers like
  std::uint32_t target_orders = 0;
  char trading_state = 'T';
  Side last_hit = Side::kBuy;  // by the last trade
  // The next cross, drawn with its first imbalance.
  std::uint64_t cross_shares = 0;
  bool cross_buys = false;  // more than it sells, until then
  GeneratedBook book;
};

class GeneratedMarket {
 public:
  explicit GeneratedMarket(const GeneratorOptions& options);
  GeneratedMarket(const GeneratedMarket&) = delete;
  GeneratedMarket& operator=(const GeneratedMarket&) = delete;

  // Messages of a day itself: S x 6 and V; of each symbol in it; and of the auctions, if there are:
  // NOII in rounds before each, and the crosses.
  static constexpr std::uint64_t kDayMessages = 7;
  static constexpr std::uint64_t kSymbolMessages = 6;  // R, H, Y, L and an order on each side
  static constexpr std::uint64_t kAuctionRounds = 3;
  static constexpr std::uint64_t kAuctionMessages = 2 * (kAuctionRounds + 1);
  static constexpr std::uint64_t kMaxHaltMessages = 6;  // H, J, H, I, H, Q

  // The bytes are valid until the next call.
  bool next(RecordedMessage& message);
  std::uint64_t messages_given() const noexcept { return given_; }
  std::uint64_t messages_total() const noexcept { return options_.messages; }

 private:
  struct Encoded {
    std::array<std::byte, kMaxMessageBytes> bytes;
    std::size_t length;
    std::uint64_t timestamp_ns;
  };
  struct Resumption {
    std::uint64_t due_ns;
    std::uint32_t symbol;
    char next_state;
  };
  enum class Phase : std::uint8_t { kStart, kDirectory, kFirstOrders, kBeforeOpen, kOpen, kEnded };

  void make_symbols();
  void make_venues_own(GeneratedSymbol& symbol, std::uint32_t rank);
  void fill();
  void begin_day();
  void begin_venues_day();
  void start_day();
  void list_symbol(GeneratedSymbol& symbol);
  void add_first_orders(GeneratedSymbol& symbol);
  void pass_directory_gap();
  void announce_open();
  void open_market();
  void announce_close();
  void end_day();
  void expire_orders();
  std::uint64_t day_messages() const noexcept;
  std::uint64_t open_of_day_ns(double length_ns) const noexcept;
  bool expires() const noexcept { return day_ + 1 < options_.days; }

  void act();
  bool announces_close();
  void act_at_venue();
  std::uint64_t next_due_ns() const noexcept;
  std::uint64_t flow_room() const noexcept;
  void happen_at_venue();
  void react(const ValueMove& move);
  void withdraw_passed(GeneratedSymbol& symbol, Side side);
  void quote(GeneratedSymbol& symbol, Side side);
  std::uint32_t quote_price(const GeneratedSymbol& symbol, Side side) const noexcept;
  void dispatch(GeneratedSymbol& symbol, FlowEvent kind);
  FlowEvent corrected(const GeneratedSymbol& symbol, FlowEvent kind);
  void walk(GeneratedSymbol& symbol);
  void add_order(GeneratedSymbol& symbol, Side side, FlowEvent where);
  void place(GeneratedSymbol& symbol, Side side, std::uint32_t price);
  void add_any(GeneratedSymbol& symbol);
  void remove_order(GeneratedSymbol& symbol);
  std::uint32_t order_to_remove(const GeneratedSymbol& symbol);
  void execute(GeneratedSymbol& symbol);
  void cancel_part(GeneratedSymbol& symbol);
  void replace_order(GeneratedSymbol& symbol, std::uint32_t index);
  void move_order(GeneratedSymbol& symbol, const GeneratedOrder& old, std::uint32_t price,
                  std::uint32_t shares);
  void execute_order(GeneratedSymbol& symbol, std::uint32_t index, std::uint32_t shares);
  void trade_hidden(GeneratedSymbol& symbol);
  void halt(std::uint32_t symbol);
  bool halt_is_due() const noexcept;
  std::uint64_t halt_ns(double share) const noexcept;
  bool resume(bool now);

  Side side_to_hit(GeneratedSymbol& symbol);
  std::uint32_t draw_price(const GeneratedSymbol& symbol, Side side, FlowEvent where);
  std::uint32_t draw_shares(const FlowQuantiles& sizes);
  std::uint64_t draw_reference();
  std::uint64_t room() const noexcept;
  void reduce(GeneratedSymbol& symbol, std::uint32_t order, std::uint32_t shares);

  Header header(std::uint16_t locate) noexcept { return {locate, 0, clock_->now_ns()}; }
  void emit_system_event(char code);
  void emit_trading_state(GeneratedSymbol& symbol, char state, Alpha<4> reason);
  void emit_imbalance(GeneratedSymbol& symbol, std::uint64_t rounds_left, char type);
  void emit_cross(GeneratedSymbol& symbol, char type);
  std::uint32_t within_market(const GeneratedSymbol& symbol, std::uint32_t price) const noexcept;
  template <class Message>
  void emit(const Message& message) {
    Encoded& encoded = pending_.emplace_back();
    encoded.length = encode(message, encoded.bytes.data());
    encoded.timestamp_ns = message.header.timestamp;
    ++emitted_;
  }

  GeneratorOptions options_;
  const FlowParameters& flow_;
  Random random_;
  OrderPool pool_;
  std::vector<GeneratedSymbol> symbols_;
  std::vector<double> activity_weights_;
  AliasTable activity_;
  std::unique_ptr<SharedMarket> shared_;                   // of a venue; null: the market has one
  std::optional<HawkesEvent> next_event_;                  // of a venue's flow
  std::uint64_t reaction_messages_ = 0, flow_events_ = 0;  // of a venue, today
  std::unique_ptr<GeneratedClock> clock_;                  // of the day
  std::unique_ptr<Hawkes> hawkes_;
  std::vector<Encoded> pending_;
  std::size_t next_pending_ = 0;
  std::vector<Resumption> resumptions_;
  std::uint32_t day_ = 0;
  Phase phase_ = Phase::kStart;
  std::uint64_t open_ns_ = 0;
  std::uint64_t flow_messages_ = 0;   // room at the open
  std::uint64_t closing_rounds_ = 0;  // to be announced
  std::uint64_t opening_rounds_ = 0;
  std::uint32_t halts_left_ = 0;
  std::uint32_t halts_of_day_ = 0;
  std::uint64_t emitted_ = 0;  // today
  std::uint64_t given_ = 0;    // of all days
  std::uint64_t last_reference_ = 0;
  std::uint64_t match_number_ = 0;
  std::size_t next_symbol_ = 0;  // to be listed at the start of the day
};

}  // namespace tickpath::itch::detail
