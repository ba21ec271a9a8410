// Exceptions as a person meets them: in the log, in a list, cleared one by one.
#include <algorithm>

#include <nlohmann/json.hpp>

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
  counters.add("exceptions", "unlisted", datapath_->exceptions_unlisted());
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
}

// What is open now, of former runs or, at a takeover, of the leader's. The newest may not have been
// listed yet.
void OegApplication::hold_symbols() {
  list_journaled(~std::uint64_t{0});
  const auto hold = [this](const Exception& exception) {
    datapath_->gateway().hold_symbol(fix::Symbol::from(exception.symbol));
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
    std::erase_if(cleared_there_, [this](const auto& each) { return exceptions_.clear(each); });
  } catch (const Error& error) {
    log::error("{}", error.what());
  }
}

void OegApplication::take_exceptions() {
  tell_cleared();
  ExceptionNote note;
  while (datapath_->pop_exception(note)) list(note);
  // Those of the tick before have been noted since, if there was room.
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

control::Json OegApplication::clear_exceptions(const control::Json& request) {
  const std::string by = request.value("by", std::string());
  if (by.empty()) throw Error("by: the name of who looked at them is wanted");
  if (!request.contains("ids") || !request.at("ids").is_array())
    throw Error("ids: a list of exceptions' numbers is wanted");
  if (request.at("ids").size() > ExceptionList::kAtOnceMax)
    throw Error("ids: at most " + std::to_string(ExceptionList::kAtOnceMax) + " at a time");
  std::size_t cleared = 0;
  for (const control::Json& id : request.at("ids")) {
    if (!id.is_number_unsigned()) throw Error("ids: numbers are wanted");
    const Exception exception = exceptions_.clear(id.get<std::uint64_t>(), by);
    ++cleared;
    log::warning("exception {} was cleared by {}", exception.id, by);
    cleared_.push_back(oeg::cleared(exception, by));
  }
  tell_cleared();
  return {{"cleared", cleared}};
}

// Those for which the datapath has no room now wait for the next tick.
void OegApplication::tell_cleared() {
  if (cleared_.empty()) return;
  while (!cleared_.empty() && datapath_->tell_cleared(cleared_.back())) cleared_.pop_back();
  datapath_->wake();
}

}  // namespace tickpath::oeg
