// What a GLIMPSE snapshot tells: the state that the feed's messages so far have led to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "common/book/book.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/trading_day.hpp"

namespace tickpath::sim {

// One thread. Follows the feed message by message; beside the books it keeps, for each stock, the
// last message of each kind (operational halts: of each market) that a snapshot repeats.
class GlimpseBook {
 public:
  // Throws Error when memory is short.
  explicit GlimpseBook(const book::Options& options);

  // The feed's next message, the first being number 1.
  void apply(std::span<const std::byte> message);
  // The number of the first message that is not in the state.
  std::uint64_t next_sequence() const noexcept { return next_sequence_; }
  // An order found no room: no snapshot could be right any more.
  bool incomplete() const noexcept;

  // The state as sequenced packets of SoupBinTCP, the Snapshot message last: system event, then for
  // all stocks directory, trading action, Reg SHO, operational halts and retail interest, then all
  // orders, each side of each stock from the best price and each price from the earliest order on,
  // so that whoever adds them in this order has the same queues. Returns how many messages.
  std::uint64_t append_snapshot(std::vector<std::byte>& to) const;

 private:
  // Empty until the stock has had one.
  using Kept = std::vector<std::byte>;
  struct Stock {
    itch::Stock symbol;  // from any message that names it: extracts have no directory
    Kept directory, trading_action, reg_sho, retail_interest;
    std::map<char, Kept> operational_halts;  // by market code: a halt at one says nothing of others
  };
  struct Handler;
  struct Snapshot;

  Stock& stock(std::uint16_t locate);
  void begin_day();
  std::uint64_t user_word(std::uint64_t time_ns, const itch::Mpid& attribution);

  book::BookSet books_;
  Kept system_event_;
  std::vector<std::unique_ptr<Stock>> stocks_;  // by locate
  std::vector<itch::Mpid> attributions_;        // index 0: none
  std::uint64_t next_sequence_ = 1;
  itch::TradingDay day_;
};

}  // namespace tickpath::sim
