#include "oeg/exceptions.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <unordered_set>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/fix/codec.hpp"

namespace tickpath::oeg {
namespace {

using Json = nlohmann::json;

struct KindText {
  ExceptionKind kind;
  std::string_view name;
  std::string_view text;
};

constexpr KindText kKinds[] = {
    {ExceptionKind::kDuplicateExecution, "duplicate_execution",
     "the ExecID came before, for the same order, and is not marked as a repetition: not booked; "
     "ask the venue whether it was another execution"},
    {ExceptionKind::kUnknownOrder, "unknown_order",
     "a fill of no order that is open here: not booked; compare with the venue's trades"},
    {ExceptionKind::kOtherSymbol, "other_symbol",
     "a report about another symbol than its order's: not booked"},
    {ExceptionKind::kOtherSide, "other_side",
     "a report about another side than its order's: not booked"},
    {ExceptionKind::kNoPrice, "no_price", "a fill without a price that can be: not booked"},
    {ExceptionKind::kShares, "shares",
     "a fill of no shares, or of more than the order had left: not booked"},
    {ExceptionKind::kQuantities, "quantities",
     "booked, but CumQty or LeavesQty does not follow from the fills before it: one may be "
     "missing; "
     "compare with the venue's trades"},
    {ExceptionKind::kUnknownExecution, "unknown_execution",
     "the venue takes back or corrects an execution (ExecRefID) that is not known: not booked"},
    {ExceptionKind::kReopened, "reopened",
     "a trade was taken back, as booked, and the venue says that its order, done here, works on: "
     "cancel it at the venue"},
    {ExceptionKind::kUnreadable, "unreadable",
     "a report whose fields could not be read; the venue was sent a Reject: not booked"},
    {ExceptionKind::kPriceDecimals, "price_decimals",
     "an execution at a price (31) of more than the six decimals that are kept: not booked; book "
     "it "
     "by hand, at the venue's own amount"},
    {ExceptionKind::kUnanswered, "unanswered",
     "the venue answers neither a request of an order that is to go (venue.answer_max), nor a "
     "second cancel, nor a status request: ask the venue for the order and cancel it there"},
    {ExceptionKind::kReplacement, "replacement",
     "a replacement that nobody asked for, also in answer to a cancel, or a restatement that adds "
     "shares: not booked"},
    {ExceptionKind::kCommission, "commission",
     "a fill was booked, but its Commission (12) is of a type (13) other than 1 and 3, or of more "
     "than six decimals, and so in no fees and no P&L; or a fill with a fee was taken back or "
     "corrected, and the fees are as they were"},
    {ExceptionKind::kOutsideLimit, "outside_limit",
     "a fill at a worse price than the order's limit: booked as reported; ask the venue to correct "
     "it"},
};

const KindText& text_of(ExceptionKind kind) noexcept {
  for (const KindText& text : kKinds)
    if (text.kind == kind) return text;
  return kKinds[0];
}

ExceptionKind kind_named(const std::string& name) {
  for (const KindText& text : kKinds)
    if (text.name == name) return text.kind;
  throw Error("no kind of exception is named '" + name + "'");
}

Json to_json(const Exception& exception) {
  return {{"id", exception.id},
          {"kind", std::string(name(exception.kind))},
          {"strategy", exception.strategy},
          {"seq", exception.fix_seq},
          {"realtime_ns", exception.realtime_ns},
          {"journal", exception.journal_sequence},
          {"order_id", exception.order_id},
          {"symbol", exception.symbol},
          {"message", exception.message}};
}

// A line of the file is an exception, or what a person has done about one.
bool is_exception(const Json& json) {
  return !json.contains("cleared") && !json.contains("booked");
}

Exception from_json(const Json& json) {
  Exception exception;
  exception.id = json.at("id").get<std::uint64_t>();
  exception.kind = kind_named(json.at("kind").get<std::string>());
  exception.strategy = json.at("strategy").get<std::uint8_t>();
  exception.fix_seq = json.at("seq").get<std::uint32_t>();
  exception.realtime_ns = json.at("realtime_ns").get<std::int64_t>();
  exception.order_id = json.at("order_id").get<std::uint64_t>();
  exception.journal_sequence = json.value("journal", std::uint64_t{0});
  exception.symbol = json.at("symbol").get<std::string>();
  exception.message = json.at("message").get<std::string>();
  return exception;
}

// What a terminal and JSON can take: SOH is '|', anything else that is no ASCII text a '?'.
std::string readable(std::string_view message) {
  std::string text(message);
  for (char& c : text) c = c == fix::kSoh ? '|' : c < ' ' || c > '~' ? '?' : c;
  return text;
}

}  // namespace

namespace {

// The value of a field in a message with '|' between them; empty: there is none.
std::string_view field(std::string_view message, std::string_view tag) {
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = std::min(message.find('|', at), message.size());
    std::string_view one = message.substr(at, end - at);
    // The journal's figures stand behind a remark.
    if (const std::size_t blank = one.rfind(' '); blank != std::string_view::npos)
      one.remove_prefix(blank + 1);
    if (one.size() > tag.size() && one.starts_with(tag) && one[tag.size()] == '=')
      return one.substr(tag.size() + 1);
    at = end + 1;
  }
  return {};
}

bool can_be_booked(ExceptionKind kind) noexcept {
  return kind == ExceptionKind::kDuplicateExecution || kind == ExceptionKind::kUnknownOrder ||
         kind == ExceptionKind::kOtherSymbol || kind == ExceptionKind::kOtherSide ||
         kind == ExceptionKind::kShares;
}

}  // namespace

ManualTrade trade_of(const Exception& exception) {
  const auto refuse = [&](std::string_view why) {
    throw Error(fmt::format("exception {} ({}) {}; use `exceptions adjust`", exception.id,
                            name(exception.kind), why));
  };
  if (is_booked(exception.kind)) refuse("was booked as it was reported");
  if (!can_be_booked(exception.kind)) refuse("is about no fill that can be booked as reported");
  ManualTrade trade;
  std::uint64_t shares = 0;
  Price price;
  bool exact = true;
  const std::string_view side = field(exception.message, "54");
  if (!fix::parse_number(field(exception.message, "32"), shares) || shares == 0 ||
      shares > 0xffff'ffff ||
      !fix::parse_executed_price(field(exception.message, "31"), price, trade.price_hundredths,
                                 exact) ||
      !exact || price.value > 0xffff'ffff || (price.value == 0 && trade.price_hundredths == 0) ||
      (side != "1" && side != "2"))
    refuse("has no side (54), shares (32) and price (31) that can be read");
  (void)fix::parse_id(field(exception.message, "17"), trade.exec_id);
  trade.shares = static_cast<std::uint32_t>(shares);
  trade.price = static_cast<std::uint32_t>(price.value);
  trade.side = side == "1" ? Side::kBuy : Side::kSell;
  trade.strategy = exception.strategy;
  const std::string_view symbol = field(exception.message, "55");
  trade.symbol = fix::Symbol::from(symbol.empty() ? exception.symbol : symbol);
  return trade;
}

ExceptionNote note_of(const JournalRecord& record) {
  const wire::OrderEvent& event = record.event;
  ExceptionNote note;
  note.kind = static_cast<ExceptionKind>(record.exception);
  note.strategy = event.strategy_id;
  note.fix_seq = record.fix_seq;
  note.order_id = event.order_id;
  note.journal_sequence = record.sequence;
  note.realtime_ns = record.realtime_ns;
  note.symbol = fix::Symbol::from({record.symbol, ::strnlen(record.symbol, sizeof(record.symbol))});
  const std::string text = fmt::format(
      "(of the journal; the venue has the whole text) "
      "34={}|11={}|17={}|54={}|32={}|31={}.{:04}{:02}",
      record.fix_seq, event.order_id, record.execution_id, static_cast<unsigned>(event.side),
      event.shares, event.price / kPriceScale, event.price % kPriceScale, event.price_hundredths);
  note.length = static_cast<std::uint16_t>(text.copy(note.text, ExceptionNote::kTextMax));
  return note;
}

ClearedException cleared(const Exception& exception, const std::string& by) noexcept {
  ClearedException result;
  result.journal_sequence = exception.journal_sequence;
  result.realtime_ns = exception.realtime_ns;
  if (holds_symbol(exception.kind)) result.symbol = fix::Symbol::from(exception.symbol);
  by.copy(result.by, ClearedException::kByMax);
  return result;
}

std::string_view name(ExceptionKind kind) noexcept { return text_of(kind).name; }
std::string_view explain(ExceptionKind kind) noexcept { return text_of(kind).text; }

ExceptionList::ExceptionList(std::string path, ForReading)
    : path_(std::move(path)), open_max_(kOpenMax) {
  read_all();
}

ExceptionList::ExceptionList(std::string path, std::size_t open_max)
    : path_(std::move(path)), open_max_(open_max) {
  read_all();
  file_ = net::FileDescriptor(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file_.get() < 0) throw SystemError("cannot write the list of exceptions " + path_, errno);
}

template <class Take>
void ExceptionList::read(Take&& take) const {
  std::ifstream file(path_);
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    try {
      take(Json::parse(line));
    } catch (const std::exception& error) {
      throw Error(fmt::format(
          "{}, line {}: {}; mend the line, or move the file away if nothing in it is needed", path_,
          number, error.what()));
    }
  }
}

// Twice: what a line adds a later one may have cleared.
void ExceptionList::read_all() {
  std::unordered_set<std::uint64_t> open;
  read([&](const Json& json) {
    if (json.contains("booked")) return;
    if (json.contains("cleared"))
      open.erase(json.at("cleared").get<std::uint64_t>());
    else
      open.insert(json.at("id").get<std::uint64_t>());
  });
  read([&](const Json& json) {
    if (!is_exception(json)) return;
    Exception exception = from_json(json);
    last_id_ = std::max(last_id_, exception.id);
    remember({exception.journal_sequence, exception.realtime_ns}, true);
    if (open.contains(exception.id)) keep(std::move(exception));
  });
}

// None behind the last that was kept can have been cleared.
void ExceptionList::for_each_beyond(const std::function<void(Exception)>& take) const {
  const std::uint64_t after = last_kept_id_;
  read([&](const Json& json) {
    if (is_exception(json) && json.at("id").get<std::uint64_t>() > after) take(from_json(json));
  });
}

// Now that there is room.
void ExceptionList::move_up() {
  beyond_ = 0;
  for_each_beyond([this](Exception exception) { keep(std::move(exception)); });
}

// In order: what comes behind one that found no room waits, too.
void ExceptionList::keep(Exception exception) {
  if (beyond_ != 0 || open_.size() >= open_max_) {
    ++beyond_;
    return;
  }
  last_kept_id_ = exception.id;
  open_.push_back(std::move(exception));
}

// As many as the journal can have of which it is not known yet that they are in the file.
void ExceptionList::remember(Key key, bool written) {
  constexpr std::size_t kKeysMax = 1u << 16;
  journaled_[key] = written;
  if (journaled_.size() > kKeysMax) journaled_.erase(journaled_.begin());
}

void ExceptionList::append(const std::string& line) {
  const std::string bytes = line + "\n";
  if (::write(file_.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw SystemError("cannot write to the list of exceptions " + path_, errno);
}

Exception ExceptionList::add(const ExceptionNote& note) {
  Exception exception;
  exception.id = ++last_id_;
  exception.kind = note.kind;
  exception.strategy = note.strategy;
  exception.fix_seq = note.fix_seq;
  exception.realtime_ns = note.realtime_ns;
  exception.order_id = note.order_id;
  exception.journal_sequence = note.journal_sequence;
  exception.symbol = readable(note.symbol.view());
  exception.message = readable({note.text, note.length});
  keep(exception);
  remember(key_of(note), false);
  append(control::text_of(to_json(exception)));
  remember(key_of(note), true);
  return exception;
}

bool ExceptionList::has_written(const JournalRecord& record) const {
  const auto found = journaled_.find({record.sequence, record.realtime_ns});
  return found != journaled_.end() && found->second;
}

const Exception& ExceptionList::find(std::uint64_t id) const {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [id](const Exception& open) { return open.id == id; });
  if (found == open_.end() && id > last_kept_id_ && id <= last_id_)
    throw Error(fmt::format("exception {} waits in the file behind {} others; clear those first",
                            id, open_.size()));
  if (found == open_.end()) throw Error(fmt::format("no exception {} is open", id));
  return *found;
}

void ExceptionList::record(const ManualTrade& trade, std::uint64_t id, const std::string& by) {
  const Json line = {{"booked", id},
                     {"by", by},
                     {"strategy", trade.strategy},
                     {"symbol", readable(trade.symbol.view())},
                     {"side", trade.side == Side::kBuy ? "buy" : "sell"},
                     {"shares", trade.shares},
                     {"price", fmt::format("{}.{:04}{:02}", trade.price / kPriceScale,
                                           trade.price % kPriceScale, trade.price_hundredths)},
                     {"realtime_ns", clock::realtime_ns()}};
  append(control::text_of(line));
}

Exception ExceptionList::clear(std::uint64_t id, const std::string& by) {
  const auto found = open_.begin() + (&find(id) - open_.data());
  const Json line = {{"cleared", id}, {"by", by}, {"realtime_ns", clock::realtime_ns()}};
  append(control::text_of(line));
  Exception cleared = std::move(*found);
  open_.erase(found);
  if (beyond_ != 0 && open_.size() <= open_max_ / 2) move_up();
  return cleared;
}

// One that is known and not open was cleared before.
bool ExceptionList::clear(const ClearedException& there) {
  const auto found = std::ranges::find_if(open_, [&](const Exception& open) {
    return open.journal_sequence == there.journal_sequence && open.realtime_ns == there.realtime_ns;
  });
  if (found == open_.end())
    return beyond_ == 0 && journaled_.contains({there.journal_sequence, there.realtime_ns});
  (void)clear(found->id, std::string(there.who()));
  return true;
}

}  // namespace tickpath::oeg
