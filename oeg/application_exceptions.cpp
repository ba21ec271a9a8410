// Exceptions as a person meets them: in the log, in a list, cleared one by one.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/fix/codec.hpp"
#include "common/log/log.hpp"
#include "oeg/application.hpp"

namespace tickpath::oeg {
namespace {

control::Json shown(const Exception& exception) {
  control::Json json = {{"id", exception.id},
                        {"kind", std::string(name(exception.kind))},
                        {"explanation", std::string(explain(exception.kind))},
                        {"symbol", exception.symbol},
                        {"fix_seq", exception.fix_seq},
                        {"realtime_ns", exception.realtime_ns},
                        {"order_id", exception.order_id},
                        {"message", exception.message}};
  if (exception.strategy != kUnknownStrategy) json["strategy"] = exception.strategy;
  return json;
}

constexpr int kTriesToBook = 1000;  // of a millisecond each

std::string name_of_person(const control::Json& request) {
  std::string by = request.value("by", std::string());
  if (by.empty()) throw Error("by: the name of who looked at them is wanted");
  return by;
}

std::uint64_t unsigned_of(const control::Json& request, const char* key, std::uint64_t most) {
  if (!request.contains(key) || !request.at(key).is_number_unsigned() ||
      request.at(key).get<std::uint64_t>() > most)
    throw Error(std::string(key) + ": a number up to " + std::to_string(most) + " is wanted");
  return request.at(key).get<std::uint64_t>();
}

std::string_view explain(ManualResult result) noexcept {
  switch (result) {
    case ManualResult::kBooked:
      return "booked";
    case ManualResult::kNoSymbol:
      return "symbol: oeg knows none of that name";
    case ManualResult::kNoStrategy:
      return "strategy: oeg knows none of that number";
    case ManualResult::kBookedBefore:
      return "this execution was booked before: the exception may be cleared";
    case ManualResult::kNoRoom:
      break;
  }
  return "there is no room in the journal, or for another position (orders.positions_max)";
}

}  // namespace

void OegApplication::register_exceptions() {
  // A standby holds them when it leads.
  if (pair_ == nullptr || datapath_->pair()->stage() != Pair::Stage::kFollowing) hold_symbols();
  if (!exceptions_.open().empty())
    log::warning(
        "{} reports of the venue could not be booked in former runs and were not looked "
        "at since; see `tickpath exceptions`",
        exceptions_.open().size() + exceptions_.beyond());
  control::Counters& counters = runtime_.counters();
  counters.add("exceptions", "noted", datapath_->gateway().counters().exceptions,
               control::Counters::Weight::kKey);
  counters.add("exceptions", "unlisted", datapath_->drop_copy().exceptions_unlisted());
  counters.add("exceptions", "open",
               [this] { return exceptions_.open().size() + exceptions_.beyond(); });
  counters.add("exceptions", "beyond", [this] { return exceptions_.beyond(); });
  runtime_.add_command("exceptions",
                       "lists the reports of the venue that could not be booked: 256 at a time, "
                       "those \"after\" a number",
                       [this](const control::Json& request) { return list_exceptions(request); });
  runtime_.add_command("clear_exceptions",
                       "\"by\" has looked at the exceptions \"ids\", at most 256: they are taken "
                       "off the list",
                       [this](const control::Json& request) { return clear_exceptions(request); });
  runtime_.add_command("book_exception",
                       "\"by\" books the fill of exception \"id\" as it was reported, for its "
                       "strategy or for \"strategy\", and clears it",
                       [this](const control::Json& request) { return book_exception(request); });
  runtime_.add_command("adjust_position",
                       "\"by\" books a trade of \"strategy\" in \"symbol\": \"shares\" (below 0: "
                       "sold) at \"price\"; exception \"id\", if given, is cleared",
                       [this](const control::Json& request) { return adjust_position(request); });
}

// What is open now, of former runs or, at a takeover, of the leader's. The newest may not have been
// listed yet.
void OegApplication::hold_symbols() {
  list_journaled(~std::uint64_t{0});
  const auto hold = [this](const Exception& exception) {
    if (holds_symbol(exception.kind))
      datapath_->gateway().held_symbols().hold(fix::Symbol::from(exception.symbol));
  };
  for (const Exception& exception : exceptions_.open()) hold(exception);
  if (exceptions_.beyond() != 0) exceptions_.for_each_beyond(hold);
}

void OegApplication::complete_takeover() {
  follow_cleared();
  hold_symbols();
  tell_recovery();
}

// What the leader has cleared may not be listed here yet: it is looked for again each tick.
void OegApplication::follow_cleared() {
  if (pair_ == nullptr) return;
  ClearedException cleared;
  while (datapath_->pair()->pop_cleared(cleared)) cleared_there_.push_back(cleared);
  try {
    std::erase_if(cleared_there_, [this](const auto& each) {
      if (!exceptions_.clear(each)) return false;
      // This oeg leads meanwhile, and holds the symbol.
      if (datapath_->leads()) cleared_.push_back(each);
      return true;
    });
  } catch (const Error& error) {
    log::error("{}", error.what());
  }
}

void OegApplication::take_exceptions() {
  tell_cleared();
  ExceptionNote note;
  while (datapath_->drop_copy().pop_exception(note)) list(note);
  // The exceptions of the tick before have been noted since, if there was room.
  list_journaled(exceptions_followed_);
  std::vector<JournalRecord>& journaled = datapath_->journal().exceptions();
  exceptions_followed_ = journaled.empty() ? 0 : journaled.back().sequence;
  std::erase_if(journaled,
                [this](const JournalRecord& record) { return exceptions_.has_written(record); });
  follow_cleared();
}

void OegApplication::list(const ExceptionNote& note) {
  if (note.journal_sequence != 0 && exceptions_.knows(note)) return;
  try {
    const bool all_kept = exceptions_.beyond() == 0;
    const Exception added = exceptions_.add(note);
    log::error("exception {}: {}: {}; {}, {}, message {}", added.id, name(added.kind),
               explain(added.kind),
               added.strategy == kUnknownStrategy ? "no strategy known"
                                                  : "strategy " + std::to_string(added.strategy),
               added.symbol, added.fix_seq);
    if (all_kept && exceptions_.beyond() != 0)
      log::error("{} exceptions are open: later ones are in {} alone until these are cleared",
                 exceptions_.open().size(), config_.exceptions_file);
  } catch (const Error& error) {
    log::error("{}", error.what());
  }
}

void OegApplication::list_journaled(std::uint64_t up_to) {
  for (const JournalRecord& record : datapath_->journal().exceptions())
    if (record.sequence <= up_to) list(note_of(record));
}

control::Json OegApplication::list_exceptions(const control::Json& request) const {
  const control::Json wanted = request.value("after", control::Json(0u));
  if (!wanted.is_number_unsigned()) throw Error("after: the number of an exception is wanted");
  const std::vector<Exception>& all = exceptions_.open();
  auto at = std::ranges::upper_bound(all, wanted.get<std::uint64_t>(), {}, &Exception::id);
  control::Json open = control::Json::array();
  for (; at != all.end() && open.size() < ExceptionList::kAtOnceMax; ++at)
    open.push_back(shown(*at));
  return {{"open", open}, {"more", at != all.end()}, {"beyond", exceptions_.beyond()}};
}

void OegApplication::clear_exception(std::uint64_t id, const std::string& by) {
  const Exception exception = exceptions_.clear(id, by);
  log::warning("exception {} was cleared by {}", exception.id, by);
  cleared_.push_back(oeg::cleared(exception, by));
}

control::Json OegApplication::clear_exceptions(const control::Json& request) {
  const std::string by = name_of_person(request);
  if (!request.contains("ids") || !request.at("ids").is_array())
    throw Error("ids: a list of exceptions' numbers is wanted");
  if (request.at("ids").size() > ExceptionList::kAtOnceMax)
    throw Error("ids: at most " + std::to_string(ExceptionList::kAtOnceMax) + " at a time");
  if (!datapath_->leads()) throw Error("this oeg stands by: ask the one that leads");
  std::size_t cleared = 0;
  for (const control::Json& id : request.at("ids")) {
    if (!id.is_number_unsigned()) throw Error("ids: numbers are wanted");
    clear_exception(id.get<std::uint64_t>(), by);
    ++cleared;
  }
  tell_cleared();
  return {{"cleared", cleared}};
}

// Waits for the datapath, whose turn takes microseconds.
void OegApplication::book_by_hand(const ManualTrade& trade, std::uint64_t exception,
                                  const std::string& by) {
  if (!datapath_->leads()) throw Error("this oeg stands by: ask the one that leads");
  if (trade.strategy == kUnknownStrategy)
    throw Error("strategy: no strategy is known; name the one whose trade it was");
  if (datapath_->gateway().slots().assign(trade.strategy) == nullptr)
    throw Error("strategy: there is no room for another one (strategies.max)");
  ManualResult result{};
  while (datapath_->desk().pop_result(result)) {  // of one that was given up
  }
  bool answered = datapath_->desk().book_by_hand(trade);
  for (int tries = 0; answered && !datapath_->desk().pop_result(result); ++tries) {
    datapath_->wake();
    answered = tries < kTriesToBook;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!answered)
    throw Error("the datapath gives no answer: look at the positions before you retry");
  if (result != ManualResult::kBooked) throw Error(std::string(explain(result)));
  log::warning("{} booked by hand: strategy {}, {} {} {} at {}.{:04}{:02}{}", by, trade.strategy,
               trade.side == Side::kBuy ? "bought" : "sold", trade.shares, trade.symbol.view(),
               trade.price / kPriceScale, trade.price % kPriceScale, trade.price_hundredths,
               exception == 0 ? std::string() : fmt::format(", of exception {}", exception));
  exceptions_.record(trade, exception, by);
}

control::Json OegApplication::book_exception(const control::Json& request) {
  const std::string by = name_of_person(request);
  const auto id = unsigned_of(request, "id", UINT64_MAX);
  ManualTrade trade = trade_of(exceptions_.find(id));
  if (request.contains("strategy"))
    trade.strategy = static_cast<std::uint8_t>(unsigned_of(request, "strategy", 254));
  book_by_hand(trade, id, by);
  clear_exception(id, by);
  tell_cleared();
  return {{"booked", id}};
}

// Shares above 0 are bought, below 0 sold.
control::Json OegApplication::adjust_position(const control::Json& request) {
  const std::string by = name_of_person(request);
  const std::uint64_t id = request.contains("id") ? unsigned_of(request, "id", UINT64_MAX) : 0;
  if (id != 0) (void)exceptions_.find(id);
  ManualTrade trade;
  trade.strategy = static_cast<std::uint8_t>(unsigned_of(request, "strategy", 254));
  trade.symbol = fix::Symbol::from(request.value("symbol", std::string()));
  const std::int64_t shares = request.value("shares", std::int64_t{0});
  if (shares == 0 || std::abs(shares) > 0xffff'ffff) throw Error("shares: a number other than 0");
  trade.side = shares > 0 ? Side::kBuy : Side::kSell;
  trade.shares = static_cast<std::uint32_t>(std::abs(shares));
  Price price;
  bool exact = true;
  if (!fix::parse_executed_price(request.value("price", std::string()), price,
                                 trade.price_hundredths, exact) ||
      !exact || price.value <= 0 || price.value > 0xffff'ffff)
    throw Error("price: a text such as \"99.0125\" is wanted, of at most six decimals");
  trade.price = static_cast<std::uint32_t>(price.value);
  book_by_hand(trade, id, by);
  if (id != 0) clear_exception(id, by);
  tell_cleared();
  return {{"adjusted", shares}};
}

// A clearing for which the datapath has no room now waits for the next tick.
void OegApplication::tell_cleared() {
  if (cleared_.empty()) return;
  while (!cleared_.empty() && datapath_->desk().tell_cleared(cleared_.back())) cleared_.pop_back();
  datapath_->wake();
}

}  // namespace tickpath::oeg
