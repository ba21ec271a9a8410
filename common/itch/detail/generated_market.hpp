// The market behind itch::Generator: symbols, their books, and the clock of the messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/random.hpp"
#include "common/itch/codec.hpp"
#include "common/itch/detail/generated_book.hpp"
#include "common/itch/generator.hpp"

namespace tickpath::itch::detail {

// When the messages come. Most gaps are lognormal; bursts interrupt them. The mean is corrected on
// the way, so that the last message comes when it should.
class GeneratedClock {
 public:
  GeneratedClock(const GeneratorOptions& options, Random& random);

  std::uint64_t now_ns() const noexcept { return now_ns_; }
  // Moves to the time of the next message; `left` messages follow it.
  void advance(std::uint64_t left) noexcept;
  void advance_start_of_day(std::uint64_t left) noexcept;
  void advance_to_end() noexcept { now_ns_ = static_cast<std::uint64_t>(end_ns_); }
  void start_burst(std::uint32_t messages) noexcept { burst_left_ = messages; }
  bool in_burst() const noexcept { return burst_left_ > 0; }

 private:
  double mean_gap_ns(std::uint64_t left) const noexcept;
  void move(double gap_ns) noexcept;

  Random& random_;
  QuantileTable lognormal_;
  QuantileTable exponential_;
  double now_exact_ns_;
  double end_ns_;
  std::uint64_t now_ns_;
  double normal_share_;
  double burst_start_chance_;
  std::uint32_t burst_left_ = 0;
};

// A tick is a cent, 100 of Price(4).
constexpr std::uint32_t price_of(std::uint32_t ticks) noexcept { return ticks * 100; }

struct GeneratedSymbol {
  Stock stock{};
  std::uint16_t locate = 0;
  std::uint32_t fair_ticks = 0;    // what the symbol is worth, in cents: a random walk
  std::uint32_t spread_ticks = 1;  // that its makers like
  std::uint32_t target_orders = 0;
  char trading_state = 'T';
  GeneratedBook book;
};

class GeneratedMarket {
 public:
  // Messages of the day itself: S x 6 and V. Of each symbol: R, H, Y, L, an order on each side, I,
  // Q.
  static constexpr std::uint64_t kDayMessages = 7;
  static constexpr std::uint64_t kSymbolMessages = 8;
  static constexpr std::uint64_t kEndMessages = 3;  // of kDayMessages

  explicit GeneratedMarket(const GeneratorOptions& options);
  GeneratedMarket(const GeneratedMarket&) = delete;
  GeneratedMarket& operator=(const GeneratedMarket&) = delete;

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
    std::uint64_t after_messages;
    std::uint32_t symbol;
    char next_state;
  };

  void make_symbols();
  void fill();
  void start_day();
  void list_symbol(GeneratedSymbol& symbol);
  void open_market();
  void end_day();

  void act();
  std::uint32_t pick_symbol();
  void walk(GeneratedSymbol& symbol);
  void add_order(GeneratedSymbol& symbol, Side side);
  void delete_order(GeneratedSymbol& symbol);
  void execute(GeneratedSymbol& symbol);
  void execute_at_another_price(GeneratedSymbol& symbol);
  void cancel_part(GeneratedSymbol& symbol);
  void replace_order(GeneratedSymbol& symbol);
  void trade_hidden(GeneratedSymbol& symbol);
  void halt(std::uint32_t symbol);
  bool resume();

  Side side_to_execute(const GeneratedSymbol& symbol);
  std::uint32_t draw_price(const GeneratedSymbol& symbol, Side side);
  std::uint32_t draw_shares();
  std::uint64_t draw_reference();
  std::uint64_t room() const noexcept;
  void reduce(GeneratedSymbol& symbol, std::uint32_t order, std::uint32_t shares);

  Header header(std::uint16_t locate) noexcept { return {locate, 0, clock_.now_ns()}; }
  void emit_system_event(char code);
  void emit_trading_state(GeneratedSymbol& symbol, char state, Alpha<4> reason);
  void emit_cross(const GeneratedSymbol& symbol, std::uint64_t shares, char type);
  template <class Message>
  void emit(const Message& message) {
    Encoded& encoded = pending_.emplace_back();
    encoded.length = encode(message, encoded.bytes.data());
    encoded.timestamp_ns = message.header.timestamp;
    ++emitted_;
  }

  GeneratorOptions options_;
  Random random_;
  GeneratedClock clock_;
  OrderPool pool_;
  std::vector<GeneratedSymbol> symbols_;
  AliasTable activity_;
  std::vector<Encoded> pending_;
  std::size_t next_pending_ = 0;
  std::vector<Resumption> resumptions_;
  std::uint64_t emitted_ = 0;
  std::uint64_t given_ = 0;
  std::uint64_t last_reference_ = 0;
  std::uint64_t match_number_ = 0;
  std::uint32_t burst_symbol_ = 0;
  std::size_t next_symbol_ = 0;  // to be listed at the start of the day
};

}  // namespace tickpath::itch::detail
