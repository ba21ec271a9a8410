#include "risk/notes.hpp"

#include <string>

#include "common/wire/names.hpp"

namespace tickpath::risk {
namespace {

// One code a limit, because a hot note carries numbers only and the limit's name is a text.
enum class Note : std::uint16_t {
  kPositionApart = 0,
  kCashApart = 1,
  kUnkilled = 2,
  kAllUnkilled = 3,
  kException = 4,
  kOtherSymbol = 5,
  kKilledByLimit = 16,  // + LimitKind
};

Note killed_by(LimitKind kind) {
  return static_cast<Note>(static_cast<unsigned>(Note::kKilledByLimit) +
                           static_cast<unsigned>(kind));
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

Notes::Notes(log::HotLog& log) : log_(log) {
  using log::Level;
  log.define(Note::kPositionApart, Level::kWarning,
             "strategy {}, instrument {}: oeg holds {} shares, the drop copy made {}; oeg's "
             "count is taken over");
  log.define(Note::kCashApart, Level::kWarning,
             "strategy {}, instrument {}: oeg's cash is {}, the drop copy made {} (1/10,000); "
             "oeg's is taken over");
  log.define(Note::kException, Level::kError,
             "strategy {}, instrument {}: oeg could not book a report of the venue as it stands; "
             "positions may be wrong until a person has looked (`tickpath exceptions`)");
  log.define(
      Note::kOtherSymbol, Level::kError,
      "instrument {}: what oeg holds under this id is of another symbol than mdh's directory "
      "has there (was mdh's instruments_file lost, or was the symbol not named for "
      "instruments_kept days?); it is valued at its cost, and oeg refuses orders in it");
  log.define(Note::kUnkilled, Level::kWarning, "strategy {} may trade again");
  log.define(Note::kAllUnkilled, Level::kWarning, "the kill switch for all is lifted");
  define_limits(log, "strategy {} is", kStrategyLimits);
  define_limits(log, "all strategies (id {}) are", kTotalLimits);
  log.define(killed_by(LimitKind::kOperator), Level::kWarning,
             "strategy {} is killed by the operator (256: all)");
  log.define(killed_by(LimitKind::kUnknown), Level::kWarning,
             "strategy {} (256: all) stays killed: oeg holds a kill that was not known here");
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
  log_.note(shares ? Note::kPositionApart : Note::kCashApart, theirs.strategy_id,
            theirs.instrument_id, shares ? theirs.position_shares : theirs.cash,
            shares ? ours.position : ours.cash);
}

void Notes::on_exception(const wire::OrderEvent& event) noexcept {
  log_.note(Note::kException, event.strategy_id, event.instrument_id);
}

void Notes::on_other_symbol(std::uint32_t instrument) noexcept {
  log_.note(Note::kOtherSymbol, instrument);
}

}  // namespace tickpath::risk
