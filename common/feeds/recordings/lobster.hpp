// LOBSTER message files (order-by-order data of NASDAQ, lobsterdata.com), turned into ITCH 5.0.
// Source of the format: LOBSTER_SampleFiles_ReadMe.txt, "Message File"; one event a line:
//
//   time (seconds after midnight, up to nanoseconds), type, order id, size, price (dollars x
//   10,000), direction (-1 sell, 1 buy: the resting order's)
//
//   type                                becomes
//   1 new order                         A
//   2 partial cancellation              X   (D when it takes all that is left)
//   3 deletion                          D
//   4 execution of a visible order      E
//   5 execution of a hidden order       P   with the resting order's side, reference number 0
//   6 cross trade (in newer files)      Q   H in a halt, else O before noon and C after it
//   7 trading halt: price -1, 0, 1      H   halted, quotation only, trading
//
// A day starts with S 'O', R, H 'T', Y, S 'S', S 'Q' at the time of the first event, and ends with
// S 'M', 'E', 'C' at that of the last: a replay at recorded pace does not wait for the night.
//
// A file holds a window of time and of price levels: nothing in it tells of what happens to an
// order while its level is out of that window. Two ways lead to a book:
//
// With the orderbook file ("..._orderbook_50.csv" beside "..._message_50.csv"; one row an event),
// each row is the truth: after every event each displayed level is right, and none is better. A
// level that leaves the window keeps its orders. When it is back, an order of a participant of sim
// has the same orders ahead. If its row then has more shares, the rest is one unnamed order. If it
// has fewer, the shares at the end of the queue are gone. An unnamed order (its reference number is
// 2^62 or above) stands for shares whose orders are not known. Events on such orders take from it.
// See lobster_window.cpp.
//
// Without it, an order whose submission is not in the file is added just before the first
// submission with a larger id (LOBSTER numbers orders in the order of submission), with the shares
// that the file will take from it: against LOBSTER's own book of the AAPL sample at 50 levels,
// dropping such events instead makes agreement at ten levels fall from 97.5 % to 90.3 %. Finding
// them takes a first pass. Orders that end out of the window are taken out when a later event
// proves them gone: an event on an order that would have traded with them, or an execution at a
// worse price of their side. Until then they are shown, so a book of few levels is wrong for long:
// use the orderbook file.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/detail/lobster_lines.hpp"
#include "common/feeds/recordings/detail/lobster_orders.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "common/files/byte_source.hpp"

namespace tickpath::itch {

// The symbol and day of "AAPL_2012-06-21_34200000_37800000_message_50.csv". No symbol: the name is
// of another shape.
struct LobsterName {
  std::string stock;
  std::uint64_t midnight_ns = 0;  // as RecordingReader::midnight_ns()
};
LobsterName parse_lobster_name(std::string_view file_name);

// The orderbook file beside a message file, compressed or not; empty when there is none.
std::filesystem::path find_lobster_orderbook(const std::filesystem::path& message_file);

// What was changed on the way.
struct LobsterCounts {
  std::uint64_t lines = 0;
  std::uint64_t earlier_orders = 0;        // added: their submission is not in the file
  std::uint64_t clamped_executions = 0;    // more shares than the order had left
  std::uint64_t repeated_submissions = 0;  // of an id that is still open: dropped
  std::uint64_t dropped_events = 0;        // on an order that is gone already
  std::uint64_t time_reversals = 0;        // moved to the time of the event before
  std::uint64_t proven_gone = 0;           // orders taken out: a later event shows that they ended
  std::uint64_t unnamed_orders = 0;        // added for shares whose orders the file does not name
};

class LobsterReader final : public RecordingReader {
 public:
  // `stock` has 1 to 8 characters. `orderbook`: the orderbook file; without one the source is read
  // once here to find orders from before the window. `midnight_ns`: of the day, which only the
  // file's name has; 0: unknown. Throws RecordingError when not even the first line is an event.
  LobsterReader(std::unique_ptr<files::ByteSource> source, const Stock& stock,
                std::unique_ptr<files::ByteSource> orderbook = nullptr,
                std::uint64_t midnight_ns = 0);

  ReadStatus next(RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return source_->file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return source_->file_bytes_total(); }
  RecordingFormat format() const noexcept override { return RecordingFormat::kLobster; }
  std::uint64_t midnight_ns() const override { return midnight_ns_; }
  std::string remarks() const override;
  const LobsterCounts& counts() const noexcept { return counts_; }

 private:
  struct EarlierOrder {
    std::uint64_t id;
    std::uint32_t shares;
    std::uint32_t price;
    Side side;
  };
  struct Encoded {
    std::array<std::byte, kMaxMessageBytes> bytes;
    std::size_t length;
    std::uint64_t timestamp_ns;
  };

  // A level's shares, as the book has them and as its row has them.
  struct Target {
    detail::LobsterPlace place;
    std::uint64_t shares;
  };

  void check_first_line();
  void find_earlier_orders();
  void start_day();
  void end_day();
  void convert(const detail::LobsterEvent& event);
  void submit(std::uint64_t id, std::uint32_t shares, detail::LobsterPlace place);
  void reduce(const detail::LobsterEvent& event);
  void take(std::uint64_t id, std::uint32_t shares, detail::LobsterType how);
  void drop_what_is_proven_gone(const detail::LobsterEvent& event);
  void drop_what_crosses(Side side, std::uint32_t price);
  void drop_levels_better_than(Side side, std::uint32_t rank);
  // lobster_window.cpp: with an orderbook file.
  bool follow_row(const detail::LobsterEvent& event);
  void check_rows_ended();
  void stand_in(const detail::LobsterEvent& event, std::uint32_t shares);
  void remove_from_window(Side side);
  void remove_level(detail::LobsterPlace place);
  void remove_shares(detail::LobsterPlace place, std::uint64_t excess);
  void add_unnamed(detail::LobsterPlace place, std::uint64_t shares);
  std::vector<Target> missing_shares() const;
  bool crosses_what_was_shown(const Target& target) const noexcept;
  void trade(const detail::LobsterEvent& event);
  void halt(const detail::LobsterEvent& event);
  void add_earlier_orders_before(std::uint64_t id);
  void system_event(char code);
  bool refill();
  Header header() const noexcept;
  template <class Message>
  void emit(const Message& message);

  std::unique_ptr<files::ByteSource> source_;
  detail::LobsterLines lines_;
  Stock stock_;
  std::uint64_t midnight_ns_;
  std::vector<EarlierOrder> earlier_;  // ascending ids
  std::size_t next_earlier_ = 0;
  detail::LobsterOrders open_;
  bool trading_ = true;  // not halted
  // With an orderbook file: its rows.
  std::unique_ptr<files::ByteSource> orderbook_;
  std::optional<detail::LobsterRows> rows_;
  detail::LobsterRow row_, previous_row_;
  std::uint64_t next_unnamed_ = detail::kUnnamedId;
  std::vector<Encoded> pending_;  // of the event read last
  std::size_t next_pending_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t match_number_ = 0;
  LobsterCounts counts_;
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace tickpath::itch
