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
//   6 cross trade (in newer files)      Q   O before noon, C after it
//   7 trading halt: price -1, 0, 1      H   halted, quotation only, trading
//
// A day starts with S 'O', R, H 'T', Y, S 'S', S 'Q' at the time of the first event, and ends with
// S 'M', 'E', 'C' at that of the last: a replay at recorded pace does not wait for the night.
//
// A file holds a window of time and of price levels, so it names orders whose submission is not in
// it. Their ids tell when they came: LOBSTER numbers orders in the order of submission. Such an
// order is added just before the first submission with a larger id, with the shares that the file
// will take from it. Dropping these events instead leaves the executions and levels out: against
// LOBSTER's own book of the AAPL sample, agreement at ten levels falls from 97.5 % to 90.3 %, and
// adding all of them at the start crosses the book. Finding them takes a first pass over the file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/files/byte_source.hpp"
#include "common/itch/codec.hpp"
#include "common/itch/detail/lobster_lines.hpp"
#include "common/itch/recording.hpp"

namespace tickpath::itch {

// The symbol and day of "AAPL_2012-06-21_34200000_37800000_message_50.csv"; both empty for a name
// of another shape.
struct LobsterName {
  std::string stock;
  std::string date;
};
LobsterName parse_lobster_name(std::string_view file_name);

// What was changed on the way.
struct LobsterCounts {
  std::uint64_t lines = 0;
  std::uint64_t earlier_orders = 0;        // added: their submission is not in the file
  std::uint64_t clamped_executions = 0;    // more shares than the order had left
  std::uint64_t repeated_submissions = 0;  // of an id that is still open: dropped
  std::uint64_t dropped_events = 0;        // on an order that is gone already
  std::uint64_t time_reversals = 0;        // moved to the time of the event before
};

class LobsterReader final : public RecordingReader {
 public:
  // `stock` has 1 to 8 characters. Reads the source once to find orders from before the window.
  // Throws RecordingError when not even the first line is an event.
  LobsterReader(std::unique_ptr<files::ByteSource> source, const Stock& stock);

  ReadStatus next(RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return source_->file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return source_->file_bytes_total(); }
  RecordingFormat format() const noexcept override { return RecordingFormat::kLobster; }
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

  void find_earlier_orders();
  void start_day();
  void end_day();
  void convert(const detail::LobsterEvent& event);
  void submit(std::uint64_t id, std::uint32_t shares, std::uint32_t price, Side side);
  void reduce(const detail::LobsterEvent& event);
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
  std::vector<EarlierOrder> earlier_;  // ascending ids
  std::size_t next_earlier_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> open_;  // shares left
  std::vector<Encoded> pending_;                           // of the event read last
  std::size_t next_pending_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t match_number_ = 0;
  LobsterCounts counts_;
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace tickpath::itch
