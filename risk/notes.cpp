#include "risk/notes.hpp"

#include <algorithm>
#include <string>

#include "common/wire/names.hpp"

namespace tickpath::risk {
namespace {

// One code a limit, because a hot note carries numbers only and the limit's name is a text.
enum class Note : std::uint16_t {
  kUnkilled = 0,
  kAllUnkilled = 1,
  kKilledByLimit = 4,  // + LimitKind
  kFirstVenue = 32,    // + the number of AtVenue for each venue
};

Note killed_by(LimitKind kind) {
  return static_cast<Note>(static_cast<unsigned>(Note::kKilledByLimit) +
                           static_cast<unsigned>(kind));
}

Note note_of(unsigned what, std::size_t venue, unsigned count) {
  return static_cast<Note>(static_cast<unsigned>(Note::kFirstVenue) +
                           static_cast<unsigned>(venue) * count + what);
}

// What breaks a limit: "strategy {} is killed: loss_max: {} is over {} (1/10,000)".
template <class Rows>
void define_limits(log::HotLog& log, const std::string& whom, const Rows& rows) {
  for (const auto& row : rows)
    log.define(killed_by(row.kind), log::Level::kError,
               whom + " killed: " + std::string(name(row.kind)) + ": {} is over {}" +
                   (row.unit == nullptr ? " (1/10,000)" : ""));
}

}  // namespace

Notes::Notes(log::HotLog& log, const std::vector<std::string>& venues) : log_(log) {
  using log::Level;
  static_assert(static_cast<unsigned>(Note::kKilledByLimit) +
                    static_cast<unsigned>(LimitKind::kUnknown) <
                static_cast<unsigned>(Note::kFirstVenue));
  define(AtVenue::kPositionApart, Level::kWarning,
         "strategy {}, instrument {}: oeg holds {} shares, the drop copy made {}; oeg's "
         "count is taken over",
         venues);
  define(AtVenue::kCashApart, Level::kWarning,
         "strategy {}, instrument {}: oeg's cash is {}, the drop copy made {} (1/10,000); "
         "oeg's is taken over",
         venues);
  define(AtVenue::kException, Level::kError,
         "strategy {}, instrument {}: oeg could not book a report of the venue as it stands; "
         "positions may be wrong until a person has looked (`tickpath exceptions`)",
         venues);
  define(AtVenue::kOtherSymbol, Level::kError,
         "instrument {}: what oeg holds under this id is of another symbol than mdh's directory "
         "has there (was mdh's instruments_file lost, or was the symbol not named for "
         "instruments_kept days?); it is valued at its cost, and oeg refuses orders in it",
         venues);
  define(AtVenue::kDoubtful, Level::kWarning,
         "its oeg has not been heard for reconcile.pending_max: what is known of its positions "
         "counts against limits, and in favour of none, until it is back",
         venues);
  log.define(Note::kUnkilled, Level::kWarning, "strategy {} may trade again");
  log.define(Note::kAllUnkilled, Level::kWarning, "the kill switch for all is lifted");
  define_limits(log, "strategy {} is", kStrategyLimits);
  define_limits(log, "all strategies (id {}) are", kTotalLimits);
  log.define(killed_by(LimitKind::kOperator), Level::kWarning,
             "strategy {} is killed by the operator (256: all)");
  log.define(killed_by(LimitKind::kUnknown), Level::kWarning,
             "strategy {} (256: all) stays killed: oeg holds a kill that was not known here");
}

void Notes::define(AtVenue what, log::Level level, const std::string& text,
                   const std::vector<std::string>& venues) {
  for (std::size_t venue = 0; venue < std::max<std::size_t>(venues.size(), 1); ++venue)
    log_.define(note_of(static_cast<unsigned>(what), venue, static_cast<unsigned>(AtVenue::kCount)),
                level, venues.empty() ? text : "venue " + venues[venue] + ", " + text);
}

template <class... Arguments>
void Notes::note(AtVenue what, Arguments... arguments) noexcept {
  log_.note(note_of(static_cast<unsigned>(what), venue_, static_cast<unsigned>(AtVenue::kCount)),
            arguments...);
}

void Notes::at_venue(std::uint32_t venue) noexcept { venue_ = venue; }

void Notes::on_doubtful(std::uint32_t venue) noexcept {
  venue_ = venue;
  note(AtVenue::kDoubtful);
}

void Notes::on_kill(std::uint32_t id, const Breach& why) noexcept {
  log_.note(killed_by(why.kind), id, why.value, why.limit);
}

void Notes::on_unkill(std::uint32_t id) noexcept {
  if (id == Monitor::kAll) {
    log_.note(Note::kAllUnkilled);
  } else {
    log_.note(Note::kUnkilled, id);
  }
}

void Notes::on_mismatch(const Row& ours, const wire::PositionRow& theirs) noexcept {
  const bool shares = ours.position != theirs.position_shares;
  note(shares ? AtVenue::kPositionApart : AtVenue::kCashApart, theirs.strategy_id,
       theirs.instrument_id, shares ? theirs.position_shares : theirs.cash,
       shares ? ours.position : ours.cash);
}

void Notes::on_exception(const wire::OrderEvent& event) noexcept {
  note(AtVenue::kException, event.strategy_id, event.instrument_id);
}

void Notes::on_other_symbol(std::uint32_t instrument) noexcept {
  note(AtVenue::kOtherSymbol, instrument);
}

}  // namespace tickpath::risk
