// What the venue reported and oeg did not book, or booked with a doubt: a list that a person must
// clear.
//
// The datapath journals an exception, notes it and goes on. The control thread writes it to a file,
// one JSON object a line; a line {"cleared": ID, ...} ends it. Until then the list, `status` and
// risk say so, and new orders in its symbol are refused if `orders.stop_on_exception` is set. What
// the journal has and the file has not, because oeg died in between, is listed at the next start.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/fix/messages.hpp"
#include "common/net/file_descriptor.hpp"
#include "oeg/journal_record.hpp"

namespace tickpath::oeg {

enum class ExceptionKind : std::uint8_t {
  kDuplicateExecution = 1,  // an ExecID of the same order again, and no PossDup or PossResend
  kUnknownOrder = 2,        // a fill of no order that is open: unknown, or done
  kOtherSymbol = 3,         // than the order's
  kOtherSide = 4,
  kNoPrice = 5,           // an execution at no price, or beyond any that an order can have
  kShares = 6,            // none, or more than the order had left
  kQuantities = 7,        // booked, but CumQty or LeavesQty does not follow from what was known
  kUnknownExecution = 8,  // a cancellation or correction of none that is known
  kReopened = 9,          // booked, but its order is done here and works on at the venue
  kUnreadable = 10,       // a report that lacks a field, or has a wrong one, that must be read
  kReplacement = 11,  // that nobody asked for (the answer to a cancel), or a restatement that adds
  kPriceDecimals = 12,  // more than six that are not 0: cash would not be what the venue booked
  kUnanswered = 13,     // no report: a request of an order that is to go has no answer
  kOutsideLimit = 14,   // booked, but at a worse price than the order's limit
  kCommission = 15,     // booked, but what it costs (12, 13) cannot be read, or has changed
};
// The report was booked all the same, by a record of the journal that follows.
constexpr bool is_booked(ExceptionKind kind) noexcept {
  return kind == ExceptionKind::kQuantities || kind == ExceptionKind::kReopened ||
         kind == ExceptionKind::kOutsideLimit || kind == ExceptionKind::kCommission;
}
// The books are in doubt, so that orders.stop_on_exception applies: not by an order without an
// answer, which trades nothing that is not reported.
constexpr bool holds_symbol(ExceptionKind kind) noexcept {
  return kind != ExceptionKind::kUnanswered;
}
std::string_view name(ExceptionKind kind) noexcept;
// What it means and what to do about it: a sentence.
std::string_view explain(ExceptionKind kind) noexcept;

inline constexpr std::uint8_t kUnknownStrategy = 255;

// As it comes from the datapath.
struct ExceptionNote {
  static constexpr std::size_t kTextMax = 640;
  ExceptionKind kind = ExceptionKind::kUnreadable;
  std::uint8_t strategy = kUnknownStrategy;
  std::uint16_t length = 0;    // of text
  std::uint32_t fix_seq = 0;   // 34
  std::uint64_t order_id = 0;  // 11, as a number; 0: none
  // The sequence of its journal record; 0: there was no room for one.
  std::uint64_t journal_sequence = 0;
  std::int64_t realtime_ns = 0;
  fix::Symbol symbol;   // the order's, else the report's; empty: unknown
  char text[kTextMax];  // the message, cut
};

// What the journal knows of it: all but the message's text, for which its figures stand.
ExceptionNote note_of(const JournalRecord& record);

struct Exception {
  std::uint64_t id = 0;  // from 1, never used again
  ExceptionKind kind = ExceptionKind::kUnreadable;
  std::uint8_t strategy = kUnknownStrategy;
  std::uint32_t fix_seq = 0;
  std::int64_t realtime_ns = 0;
  std::uint64_t order_id = 0;
  std::uint64_t journal_sequence = 0;
  std::string symbol;
  std::string message;  // SOH as '|'
};

// A person has cleared an exception, as the datapath is told: it releases the symbol, and one of a
// pair tells its standby. The symbol is empty where none was held (holds_symbol()).
struct ClearedException {
  static constexpr std::size_t kByMax = 48;
  std::uint64_t journal_sequence = 0;  // these two: of its record; 0: it has none
  std::int64_t realtime_ns = 0;
  fix::Symbol symbol;
  char by[kByMax] = {};  // who, cut; NUL-padded
  std::string_view who() const noexcept { return {by, ::strnlen(by, kByMax)}; }
};
ClearedException cleared(const Exception& exception, const std::string& by) noexcept;

// A trade that a person books: that of an exception, or one that sets a position right.
struct ManualTrade {
  std::uint64_t exec_id = 0;  // the venue's; 0: oeg gives it one
  std::uint32_t shares = 0;
  std::uint32_t price = 0;  // Price(4)
  std::uint8_t price_hundredths = 0;
  std::uint8_t strategy = kUnknownStrategy;
  Side side = Side::kBuy;
  fix::Symbol symbol;
};
enum class ManualResult : std::uint8_t { kBooked, kNoSymbol, kNoStrategy, kNoRoom, kBookedBefore };

// The fill that the exception is about, as its message has it. Throws Error: it is none that can be
// booked as it is, or was booked.
ManualTrade trade_of(const Exception& exception);

// Control thread.
class ExceptionList {
 public:
  // Open ones that are kept here: what a person can look at. The rest is in the file alone.
  static constexpr std::size_t kOpenMax = 4096;
  // That one admin command lists or clears, so that whoever asks something else meanwhile has an
  // answer within milliseconds.
  static constexpr std::size_t kAtOnceMax = 256;

  // Reads the file if it is there. Throws SystemError, or Error with the line that is damaged.
  explicit ExceptionList(std::string path, std::size_t open_max = kOpenMax);
  // As an auditor reads it: nothing is created, and nothing can be added. Throws likewise.
  static ExceptionList as_written(std::string path) { return {std::move(path), ForReading{}}; }

  // The oldest of those that are open.
  const std::vector<Exception>& open() const noexcept { return open_; }
  // Open ones behind those, in the file alone; they move up as the others are cleared.
  std::uint64_t beyond() const noexcept { return beyond_; }
  // From the file: take(Exception) for each of them, in order.
  void for_each_beyond(const std::function<void(Exception)>& take) const;
  // Throws SystemError when the file cannot be written; it is in the list all the same, if there is
  // room.
  Exception add(const ExceptionNote& note);
  // Whether it was ever in the list, and whether it is in the file.
  bool knows(const ExceptionNote& note) const { return journaled_.contains(key_of(note)); }
  bool has_written(const JournalRecord& record) const;
  // Throws Error when it is not one of open().
  const Exception& find(std::uint64_t id) const;
  // For those who audit: that `by` has booked the trade, of the exception with that id (0: of
  // none). Throws SystemError.
  void record(const ManualTrade& trade, std::uint64_t id, const std::string& by);
  // `by`: who looked at it. Throws Error when it is not one of open(), and SystemError.
  Exception clear(std::uint64_t id, const std::string& by);
  // The leader of the pair had it cleared. False: it is not listed here yet, or waits in the file
  // behind others; ask again. Throws SystemError.
  bool clear(const ClearedException& there);

 private:
  struct ForReading {};
  ExceptionList(std::string path, ForReading);
  // Which record of which journal: its numbers begin anew where the journal was moved away.
  using Key = std::pair<std::uint64_t, std::int64_t>;
  static Key key_of(const ExceptionNote& note) { return {note.journal_sequence, note.realtime_ns}; }
  template <class Take>
  void read(Take&& take) const;
  void read_all();
  void move_up();
  void keep(Exception exception);
  void remember(Key key, bool written);
  void append(const std::string& line);

  std::string path_;
  std::size_t open_max_;
  net::FileDescriptor file_;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_kept_id_ = 0;  // no later one was ever in open_, or cleared
  std::uint64_t beyond_ = 0;
  std::vector<Exception> open_;
  std::map<Key, bool> journaled_;  // the newest of those ever listed; true: in the file
};

}  // namespace tickpath::oeg
