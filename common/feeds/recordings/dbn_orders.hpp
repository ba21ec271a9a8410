// Market by order of Databento's normalisation as ITCH 5.0.
//
//   A add                       A; of an id that rests: as if a snapshot showed it again
//   C cancel                    X, or D for the whole order; nothing for shares that a fill took
//   M modify                    X when only the size falls, else U; an order that nobody knows: A
//   F fill of a resting order   E, or C at another price than the order's; P of an order that
//                               nobody knows. Databento's books change with the cancel or modify
//                               that follows it, ITCH's with the fill. One whose event ends without
//                               that, and is not followed by it, is counted
//   T trade                     P when it has no side (nothing displayed was met), or Q of an
//                               auction; the others are told by their fills
//   R clear                     D for every order of the instrument
//
// A trade without a side is of an auction when the book is locked or crossed, or when its price is
// beyond the best bid or offer. Continuous trading does neither, and nothing else in the data shows
// an auction. The fills of its time are executions of the cross (C, not printable), as ITCH has
// them: the Q has the shares.
//
// A snapshot is R and then the orders that rest, all flagged kSnapshot. A record of its instrument
// without the flag, or the end, shows that it is whole. So does a record of another instrument
// behind a snapshot whose last record was flagged kLast, or that is silent for a second. Then its
// orders are compared with the book:
//
//   an order is gone                                          D
//   it has fewer shares                                       X
//   it is new, has more shares, or another side or price      A
//
// An order with the same id, side and price keeps its reference unless it has more shares. So it
// keeps its place in the queue among the orders of sim's participants.
//
// References are given anew, from 1: order ids need not be unique over instruments. Symbols that
// the metadata or a mapping names before the first record are listed (R) before it, so that whoever
// waits for a symbol finds it. The others are listed when they are named or first appear. ITCH
// cannot say some names: more than eight characters, none, or another instrument's. Such an
// instrument is listed as "#" and its number in base 36; names() has them.
//
// Ids may be given anew each day, so a name is that of its day. It comes from the metadata (days
// are UTC), from a mapping in the stream, or from a line of CSV. An instrument that is named anew
// begins without orders. An instrument whose name goes to another one has no name until it gets the
// next. On a day that is in none of its intervals of the metadata it has none, either.
//
// Several files are one recording: one object takes the records of all, so that orders rest on, and
// references, locates and times go on.
//
// Prices finer than 1/10,000 are rounded away from the market, bids down and asks up. Rounded
// alike, a market that is a tick wide would be locked for ever. Ours may be wider than the venue's;
// remarks_of() names the instruments.
//
// Times are those of the events, to the nanosecond since the midnight (UTC) before the first
// record, for as many days as there are; a message's own start anew at each midnight. A system
// event (S 'D') marks each midnight, so that a file that was converted from them has the same
// times. An order of a snapshot came days ago perhaps: its message has the time of the snapshot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/units.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/dbn.hpp"
#include "common/feeds/recordings/dbn_names.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::itch {

struct DbnCounts {
  std::uint64_t records = 0;           // market by order, taken
  std::uint64_t unknown_orders = 0;    // canceled or filled, never added (or filled whole before)
  std::uint64_t lone_fills = 0;        // without the cancel or modify that takes them from the book
  std::uint64_t clamped_fills = 0;     // of more shares than their order had left: cut to these
  std::uint64_t unusable_orders = 0;   // added without shares or side: left out
  std::uint64_t repeated_orders = 0;   // added a second time
  std::uint64_t rounded_prices = 0;    // not a multiple of 1/10,000
  std::uint64_t unusable_prices = 0;   // ITCH cannot say them: left out
  std::uint64_t not_by_order = 0;      // records of price levels: left out
  std::uint64_t other_publishers = 0;  // of other venues than the first: left out
  std::uint64_t beyond_locates = 0;    // of more than 65,535 instruments: left out
  std::uint64_t unknown_actions = 0;
  std::uint64_t snapshot_times = 0;  // of events before the snapshot that tells them, or days off
  std::uint64_t time_reversals = 0;  // earlier than the record before: told at its time
  std::uint64_t unusable_times = 0;  // none, or more than a year ahead: likewise
  std::uint64_t renamed = 0;         // instruments named anew once listed
  std::uint64_t named_late = 0;      // once listed, without a name before: they keep their number
  std::uint64_t unmapped = 0;        // listed on a day for which the metadata does not name them
};

// Anything but the datapath; allocates. One thread.
class DbnOrders {
 public:
  // Each file of the recording, in order, before the first record of any. mappings: of its
  // metadata. Returns its number, from 0.
  std::size_t add_file(const std::vector<dbn::Mapping>& mappings = {});
  std::size_t files() const noexcept { return files_; }
  // Names of instruments that have none yet, before the first record: each has it until it gets
  // another. shared: names that several instruments have at a time.
  void expect(const DbnNames::Names& names, const std::set<std::string>& shared = {}) {
    calls_.expect(names);
    shared_.insert(shared.begin(), shared.end());
  }

  // The messages that the record stands for are behind those that next() has not taken. symbol: as
  // its line names the instrument; empty: it does not.
  void take(const dbn::MboMessage& record, const std::string& symbol = {});
  // To be called once or more when a file has no more records. After the last file, or the one
  // whose damage ends the recording, it makes the messages of snapshots that are under way: nothing
  // else shows that they are whole. False: there are none.
  bool end_file(std::size_t file, bool damaged);
  // The file at hand begins before the one before ended.
  bool goes_back() const noexcept { return goes_back_; }
  // False: there is none. Valid until the next call.
  bool next(RecordedMessage& message);
  void name(std::uint32_t instrument, const std::string& symbol);
  // Symbols as listed, and the names that they stand for, where these differ.
  const std::vector<std::pair<std::string, std::string>>& names() const noexcept { return names_; }
  std::uint64_t midnight_ns() const noexcept { return midnight_ns_; }
  // Symbols whose prices were rounded.
  const std::set<std::string>& rounded() const noexcept { return rounded_; }
  const DbnCounts& counts() const noexcept { return counts_; }

 private:
  struct Order {
    std::uint64_t reference;
    Side side;
    std::uint32_t price;
    std::uint32_t shares;  // that rest in ITCH's book
    std::uint32_t filled;  // told by fills, and to be told again by cancels
  };
  using Orders = std::unordered_map<std::uint64_t, Order>;  // by Databento's id
  struct Encoded {
    std::array<std::byte, kMaxMessageBytes> bytes;
    std::size_t size;
    std::uint64_t time_ns;
  };
  struct Listed {
    std::uint16_t locate;
    Stock stock;
  };
  // A fill of a known order, until the cancel or modify of its event.
  struct Fill {
    std::uint64_t order_id;
    std::uint32_t filled_before;
    bool counted = false;  // its event has ended
  };
  static constexpr std::uint64_t kNoCross = ~std::uint64_t{0};
  using Levels = std::map<std::uint32_t, std::uint32_t>;  // orders that rest, by price
  struct Instrument {
    Listed listed;
    Orders orders{};
    std::vector<Fill> fills{};
    Levels bids{}, offers{};
    std::uint64_t day = 0;              // of its last record, since the first midnight
    std::uint64_t cross_ns = kNoCross;  // time of its last auction
  };
  // What was ever listed, and the instrument that has it now, if any.
  struct Name {
    Listed listed;
    std::optional<std::uint32_t> instrument{};
    std::set<std::string> stood_for{};  // in names_
  };
  struct Snapshot {
    std::vector<dbn::MboMessage> shown{};
    std::uint64_t time_ns = 0;  // of its last record
    bool may_be_whole = false;  // its last record is an event's
  };

  template <class Message>
  void emit(const Message& message);
  void tell_midnights();
  bool accept(const dbn::MboMessage& record, const std::string& symbol);
  void apply(const dbn::MboMessage& record);
  void settle_fills(char action);
  void end_event();
  void advance(const dbn::MboMessage& record);
  Instrument* list(std::uint32_t instrument);
  Name* list_symbol(const Stock& stock);
  void list_all();
  bool begin_day(const dbn::MboMessage& record);
  bool call(std::uint32_t instrument, const std::string& symbol);
  void pass_on(const std::string& name);
  void unlist(std::uint32_t instrument);
  Stock stock_for(std::uint32_t instrument, const std::string& name) const;
  bool price_of(const dbn::MboMessage& record, Side side, std::uint32_t& price);
  void add(const dbn::MboMessage& record);
  void cancel(const dbn::MboMessage& record);
  void modify(const dbn::MboMessage& record);
  void fill(const dbn::MboMessage& record);
  void trade(const dbn::MboMessage& record);
  void print(const dbn::MboMessage& record, std::uint32_t price);
  void cross(const dbn::MboMessage& record, std::uint32_t price);
  bool is_of_auction(std::uint32_t price) const;
  void execute(Order& order, std::uint32_t shares, std::uint32_t price);
  Levels& levels_of(Side side) const { return side == Side::kBuy ? at_->bids : at_->offers; }
  void rest(const Order& order);
  void leave(const Order& order);
  void clear();
  bool take_snapshot(const dbn::MboMessage& record);
  void end_snapshots(const dbn::MboMessage& record);
  bool tell_snapshots();
  void tell_snapshot(std::uint32_t instrument, const Snapshot& snapshot);
  void settle(const std::vector<dbn::MboMessage>& shown);
  static bool keeps_its_place(const Order& order, const dbn::MboMessage& now) noexcept;
  std::vector<Orders::iterator> orders_by_arrival();
  void turn_to(Instrument& instrument);
  void reduce(Orders::iterator order, std::uint32_t shares);
  void stay(Orders::iterator order, std::uint32_t shares);
  void remove(Orders::iterator order);

  DbnNames calls_;  // what instruments are called
  std::unordered_map<std::uint32_t, Instrument> listed_;
  std::map<std::string, Name> known_;  // by symbol
  std::vector<std::pair<std::string, std::string>> names_;
  std::set<std::string> shared_;  // names that several instruments have at a time
  std::set<std::string> rounded_;
  std::map<std::uint32_t, Snapshot> snapshots_;  // under way, by instrument
  std::deque<Encoded> waiting_;
  Encoded current_;
  Header header_;
  Instrument* at_ = nullptr;  // that turn_to() named
  std::size_t files_ = 0, files_ended_ = 0;
  bool file_begins_ = false, goes_back_ = false;
  std::uint64_t midnight_ns_ = 0;  // before the first record; 0: none came
  std::uint64_t last_ns_ = 0;      // since then
  std::uint64_t days_told_ = 0;    // that have begun since then
  std::uint64_t next_reference_ = 1, next_match_ = 1;
  std::uint16_t publisher_ = 0;
  DbnCounts counts_;
};

}  // namespace tickpath::itch
