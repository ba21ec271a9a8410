#include "tools/history/recording_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "common/base/error.hpp"
#include "common/book/book.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "common/feeds/recordings/several_files.hpp"
#include "tools/history/row_writer.hpp"

namespace tickpath::history {
namespace {

struct Best {
  book::Quote bid;
  book::Quote ask;
  friend bool operator==(const Best&, const Best&) = default;
};

// What a message says, as far as the table of ticks has columns for it.
struct Said {
  std::string_view side;
  std::uint64_t reference = 0;
  std::uint64_t new_reference = 0;
  std::uint64_t shares = 0;
  std::uint32_t price = 0;
};

struct Trade {
  std::uint64_t match_number;
  bool printable;
};

std::string_view text(Side side) { return side == Side::kBuy ? "buy" : "sell"; }

// Room for what a recording of this size can have at a time, within what a day of the whole market
// has: an order takes 36 bytes, or a tenth of that compressed.
book::Options book_options(std::uint64_t file_bytes) {
  constexpr std::uint64_t kMost = 8u << 20;
  const std::uint64_t orders = std::clamp<std::uint64_t>(file_bytes / 4, 1u << 16, kMost);
  return {static_cast<std::uint32_t>(orders), static_cast<std::uint32_t>(orders / 2)};
}

class Rows {
 public:
  Rows(const RecordingSource& source, const RecordingRows& sinks, const book::Options& options)
      : source_(source),
        sinks_(sinks),
        books_(options),
        symbols_(book::kLocatesMax),
        best_(book::kLocatesMax) {}

  void take(std::uint64_t tick, std::int64_t time_ns, std::span<const std::byte> bytes) {
    tick_ = tick;
    time_ns_ = time_ns;
    locate_ = bytes.size() >= itch::kHeaderBytes ? itch::stock_locate(bytes.data()) : 0;
    said_ = {};
    type_ = bytes.empty() ? '?' : itch::message_type(bytes.data());
    trade_.reset();
    // What is no message is a tick without fields. decode() is noexcept: sinks, which may throw,
    // are called behind it.
    (void)itch::decode(bytes, *this);
    if (trade_) write_trade(*trade_);
    write_tick();
    write_quote();
    if (books_.count(book::Status::kOrdersFull) + books_.count(book::Status::kLevelsFull) != 0)
      throw Error(source_.path + ": more orders rest at message " + std::to_string(tick) +
                  " than the loader's book can have (" +
                  std::to_string(books_.options().orders_max) + ")");
  }

  void operator()(const itch::AddOrder& m) { add(m); }
  void operator()(const itch::AddOrderMpid& m) { add(m); }
  void operator()(const itch::OrderExecuted& m) {
    const book::Change change = books_.execute(m.order_reference_number, m.executed_shares);
    executed(change, change.price, m.order_reference_number, m.executed_shares, m.match_number,
             true);
  }
  void operator()(const itch::OrderExecutedWithPrice& m) {
    const book::Change change = books_.execute(m.order_reference_number, m.executed_shares);
    executed(change, m.execution_price, m.order_reference_number, m.executed_shares, m.match_number,
             m.printable != 'N');
  }
  void operator()(const itch::OrderCancel& m) {
    const book::Change change = books_.reduce(m.order_reference_number, m.cancelled_shares);
    said_ = {side_of(change), m.order_reference_number, 0, m.cancelled_shares, change.price};
  }
  void operator()(const itch::OrderDelete& m) {
    const book::Change change = books_.remove(m.order_reference_number);
    said_ = {side_of(change), m.order_reference_number, 0, change.shares, change.price};
  }
  void operator()(const itch::OrderReplace& m) {
    const book::Change change = books_.replace(m.original_order_reference_number,
                                               m.new_order_reference_number, m.shares, m.price);
    said_ = {side_of(change), m.original_order_reference_number, m.new_order_reference_number,
             m.shares, m.price};
  }
  void operator()(const itch::NonCrossTrade& m) {
    name_symbol(m);
    said_ = {text(itch::side_of(m.buy_sell_indicator)), m.order_reference_number, 0, m.shares,
             m.price};
    trade_ = Trade{m.match_number, true};
  }
  void operator()(const itch::CrossTrade& m) {
    name_symbol(m);
    said_ = {"", 0, 0, m.shares, m.cross_price};
    if (m.shares != 0) trade_ = Trade{m.match_number, true};
  }
  void operator()(const itch::StockDirectory& m) { name_symbol(m); }
  void operator()(const itch::SystemEvent& m) {
    if (day_.on_event(m.event_code) != itch::DayBreak::kDay) return;
    books_.clear();
    std::ranges::fill(best_, Best{});
    std::ranges::fill(symbols_, std::string());  // locates are a day's
  }
  void operator()(const auto&) {}

 private:
  template <class Message>
  void name_symbol(const Message& m) {
    std::string& symbol = symbols_[locate_];
    if (symbol.empty()) symbol = source_.names.name_of(m.stock.view());
  }
  template <class Message>
  void add(const Message& m) {
    name_symbol(m);
    const Side side = itch::side_of(m.buy_sell_indicator);
    (void)books_.add(locate_, m.order_reference_number, side, m.shares, m.price);
    said_ = {text(side), m.order_reference_number, 0, m.shares, m.price};
  }
  static std::string_view side_of(const book::Change& change) {
    return change.status == book::Status::kUnknownReference ? "" : text(change.side);
  }
  // Where an order is in no book, its side and price are not known.
  void executed(const book::Change& change, std::uint32_t price, std::uint64_t reference,
                std::uint32_t shares, std::uint64_t match_number, bool printable) {
    said_ = {side_of(change), reference, 0, shares, price};
    trade_ = Trade{match_number, printable};
  }

  RowWriter& begin_row() {
    row_.clear();
    return row_.text(source_.run)
        .number(tick_)
        .number(time_ns_)
        .number(day_of(time_ns_))
        .text(symbols_[locate_]);
  }
  void write_tick() {
    begin_row()
        .text({&type_, 1})
        .text(said_.side)
        .number(said_.reference)
        .number(said_.new_reference)
        .number(said_.shares)
        .number(said_.price);
    sinks_.ticks(tick_, row_.bytes());
  }
  void write_quote() {
    const Best now{books_.best(locate_, Side::kBuy), books_.best(locate_, Side::kSell)};
    if (now == best_[locate_]) return;
    best_[locate_] = now;
    begin_row()
        .number(now.bid.price)
        .number(now.bid.shares)
        .number(now.ask.price)
        .number(now.ask.shares);
    sinks_.quotes(tick_, row_.bytes());
  }
  void write_trade(const Trade& trade) {
    begin_row()
        .text({&type_, 1})
        .text(said_.side)
        .number(said_.price)
        .number(said_.shares)
        .number(trade.match_number)
        .number(std::uint8_t{trade.printable});
    sinks_.trades(tick_, row_.bytes());
  }

  const RecordingSource& source_;
  const RecordingRows& sinks_;
  book::LevelBookSet books_;
  itch::TradingDay day_;
  std::vector<std::string> symbols_;  // by locate, as named; those two by locate
  std::vector<Best> best_;
  RowWriter row_;
  // Number and time of the message at hand.
  std::uint64_t tick_ = 0;
  std::int64_t time_ns_ = 0;
  book::Locate locate_ = 0;
  char type_ = ' ';
  Said said_;
  std::optional<Trade> trade_;
};

}  // namespace

void require_readable(const std::string& recording) {
  for (const std::string& path : itch::split_files(recording)) {
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr)
      throw SystemError(
          "the recording " + path + " cannot be read from here (--recording names another)", errno);
    std::fclose(file);
  }
}

RecordingRead read_recording(const RecordingSource& source, const RecordingRows& sinks) {
  const auto recording = itch::open_recording(source.path, {.stock = source.stock});
  Rows rows(source, sinks, book_options(recording->file_bytes_total()));
  RecordingRead read;
  while (read.messages < source.messages) {
    itch::RecordedMessage message;
    const itch::ReadStatus status = recording->next(message);
    if (status == itch::ReadStatus::kDamaged) read.damage = recording->damage();
    if (status != itch::ReadStatus::kMessage) break;
    const std::int64_t midnight =
        source.midnight_ns.value_or(static_cast<std::int64_t>(recording->midnight_ns()));
    rows.take(++read.messages, midnight + static_cast<std::int64_t>(message.timestamp_ns),
              message.bytes);
    source.progress(recording->file_bytes_read(), recording->file_bytes_total());
  }
  return read;
}

}  // namespace tickpath::history
