#include "tests/fault/simulation/world.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/wire/witness.hpp"

namespace tickpath::simulation {
namespace {

using oeg::Pair;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kTickNs = 5 * kMs;
constexpr std::uint32_t kRounds = 120;
// Without faults, under a burst of orders: longer than a standby may be overdue.
constexpr std::uint32_t kRoundsOfABurst = 400;
constexpr std::uint64_t kOrdersMax = 400;  // the places have tables for 512
// Once the faults have stopped. A joiner waits for a snapshot for 5 s, a full disk is tried again
// after 1 s, and a person comes after 2 s.
constexpr std::uint64_t kSettlesNs = 12'000 * kMs;
constexpr std::uint64_t kPersonNs = 2'000 * kMs;
// A leader whose log is full gets rid of its standby in confirm_max, or sees a full journal.
constexpr std::uint64_t kWithoutRoomNs = 400 * kMs;
constexpr std::uint64_t kOrdersAfter = 3;
// One run in so many has a standby or a joiner that lives and takes nothing for longer than that.
constexpr std::uint64_t kStarves = 8;
constexpr std::uint64_t kStarvesNs = kWithoutRoomNs + 200 * kMs;

std::string in_words(wire::Leadership word) {
  return "{" + std::to_string(word.epoch) + ", " + std::to_string(word.leader) +
         (word.alone ? ", alone}" : ", pair}");
}

Delays quick() { return {}; }
Delays of_an_adapter() { return {.most_ns = 3'000}; }
Delays of_a_busy_network() { return {.most_ns = 150'000, .spike_ns = 8 * kMs, .spikes_mille = 20}; }

}  // namespace

World::World(std::uint64_t seed, const std::string& folder, log::HotLog& hot_log,
             std::uint32_t broken_habits, bool tells)
    : tells_(tells),
      starves_(seed % kStarves == 0),
      who_starves_(static_cast<Starves>(seed / kStarves % 3)),
      random_(seed * 2 + 1),
      fabric_(random_, time_, quick(), random_.one_in(2)),
      venue_(random_),
      around_{.random = random_,
              .time = time_,
              .fabric = fabric_,
              .venue = venue_,
              .hot_log = hot_log,
              .folder = folder,
              .broken_habits = broken_habits} {
  around_.witness_device = std::make_unique<SimulatedDevice>(fabric_);
  around_.witness_region = around_.witness_device->allocate(
      sizeof(wire::WitnessBlock), rdma::kLocalWrite | rdma::kRemoteRead | rdma::kRemoteAtomic, "");
  for (int id = 1; id <= 2; ++id)
    places_[static_cast<std::size_t>(id - 1)] = std::make_unique<Place>(around_, id);
  places_[0]->meet(*places_[1]);
  places_[1]->meet(*places_[0]);
  restart_witness(false);
}

World::~World() {
  for (auto& place : places_) place->end();
  around_.witness_links.clear();
}

void World::choose() {
  fabric_.set_delays(random_.one_in(3)   ? quick()
                     : random_.one_in(2) ? of_an_adapter()
                                         : of_a_busy_network());
  if (random_.one_in(16)) return;  // nothing happens: nobody is given up
  const auto some = [this] { return random_.one_in(3); };
  faults_ = {.ends = some(),
             .steps = some(),
             .stops = some(),
             .cuts = some(),
             .witness = some(),
             .forgetful = random_.one_in(4),
             .disks = random_.one_in(4),
             .power = random_.one_in(6),
             .memories = random_.one_in(8),
             .copies = random_.one_in(8),
             .hand_overs = random_.one_in(4),
             .floods = some()};
  // What stands in one room is lost together.
  if (random_.one_in(12))
    faults_.memories = faults_.forgetful = faults_.witness = faults_.ends = faults_.cuts = true;
  fault_mille_ = 20 + random_.below(120);
  around_.power_may_fail = faults_.power;
}

void World::problem(const std::string& what) {
  if (outcome_.problem.empty()) {
    outcome_.problem = what;
    outcome_.round = round_;
  }
}

void World::tell(const char* what, int who) {
  if (!tells_) return;
  std::printf("%5u %9.3f ms  %s", round_,
              static_cast<double>(time_.now_ns() - clock::VirtualTime::kStartNs) / 1e6, what);
  if (who != 0) std::printf(" %d", who);
  std::printf("\n");
}

std::string World::state_of(Place& place) const {
  constexpr const char* kLives[] = {"ended", "begins", "joins", "runs"};
  constexpr const char* kStages[] = {"follows", "takes over", "leads", "retired"};
  std::string text = kLives[static_cast<std::size_t>(place.life())];
  if (place.stopped) text += ", stopped";
  if (place.stuck) text += ", stuck";
  if (place.disk_full) text += ", disk full";
  const Pair* const pair = place.pair();
  if (pair == nullptr) return text;
  text += std::string(", ") + kStages[static_cast<std::size_t>(pair->stage())];
  text += " " + in_words(pair->word());
  if (pair->status().blocked()) text += ", blocked";
  if (pair->status().waits_for_word()) text += ", waits for a word";
  if (pair->status().has_standby()) text += ", needs its standby";
  if (pair->status().stands_by()) text += ", stands by";
  if (place.logged_on()) text += ", logged on";
  return text;
}

// What has changed of the two, and of the witness.
void World::tell_changes() {
  if (!tells_) return;
  for (auto& place : places_)
    tell_change(told_[static_cast<std::size_t>(place->id() - 1)],
                "    oeg " + std::to_string(place->id()) + " " + state_of(*place));
  tell_change(told_[2], "    the witness" + std::string(around_.witness_up ? " " : ", ended, ") +
                            in_words(around_.witness_word()));
}

void World::tell_change(std::string& told, const std::string& now) {
  if (std::exchange(told, now) != now) tell(now.c_str());
}

// --------------------------------------------------------------------------------- its course

Outcome World::run() {
  choose();
  for (auto& place : places_) place->start();
  const bool from_the_start = faults_.ends && random_.one_in(4);
  if (!from_the_start && !settle_at_first()) problem("the pair never began");
  trade();
  if (starves_ && fault_mille_ != 0) starve();
  tell("the faults stop");
  heal();
  if (outcome_.problem.empty() && !settles()) problem("it does not settle once the faults stop");
  if (outcome_.problem.empty()) compare();
  outcome_.orders = venue_.taken();
  outcome_.epochs = std::max(places_[0]->led_in(), places_[1]->led_in());
  outcome_.books_were_old = around_.books_are_old;
  return outcome_;
}

void World::trade() {
  const bool burst = fault_mille_ == 0;
  const std::uint32_t rounds = burst ? kRoundsOfABurst : kRounds;
  for (std::uint32_t i = 0; i < rounds && outcome_.problem.empty(); ++i) {
    if (random_.per_mille(fault_mille_)) disturb();
    const std::uint64_t step = burst               ? 50'000 + random_.below(100'000)
                               : random_.one_in(8) ? random_.below(12 * kMs)
                               : random_.one_in(2) ? random_.below(kMs)
                                                   : random_.below(100'000);
    const std::uint64_t orders = burst                                  ? 1
                                 : faults_.floods && random_.one_in(10) ? 40
                                                                        : random_.below(3);
    round(step, ordered_ < kOrdersMax ? orders : 0, random_.one_in(2));
  }
}

// As many orders as there is room for, beside a follower that cannot take them. It is a standby
// whose heart beats, one whose disk is full, or a stopped joiner.
void World::starve() {
  const auto standby = std::find_if(places_.begin(), places_.end(), [](const auto& place) {
    return place->runs() && place->pair()->status().stands_by();
  });
  const bool joiner = who_starves_ == Starves::kJoiner;
  if (standby == places_.end() || (joiner && !joins_again(**standby))) return;
  (joiner                                  ? (*standby)->stopped
   : who_starves_ == Starves::kWithoutDisk ? (*standby)->disk_full
                                           : (*standby)->stuck) = true;
  tell("takes nothing for long: oeg", (*standby)->id());
  const std::uint64_t until = time_.now_ns() + kStarvesNs;
  goes_on_ns_[static_cast<std::size_t>((*standby)->id() - 1)] = until;
  while (time_.now_ns() < until && outcome_.problem.empty())
    round(4 * kMs, ordered_ < kOrdersMax ? 40 : 0, true);
}

// True: the leader streams to it, and it has no snapshot yet.
bool World::joins_again(Place& place) {
  place.end();
  place.start();
  for (int i = 0; i < 200 && place.life() != Place::Life::kJoins && outcome_.problem.empty(); ++i)
    round(kMs, 0, false);
  return place.life() == Place::Life::kJoins;
}

bool World::settle_at_first() {
  const std::uint64_t until = time_.now_ns() + 2'000 * kMs;
  while (time_.now_ns() < until && outcome_.problem.empty()) {
    round(2 * kMs, 0, false);
    if (places_[0]->leads() && places_[0]->logged_on() && places_[1]->runs() &&
        places_[1]->pair()->status().stands_by())
      return true;
  }
  return false;
}

void World::round(std::uint64_t step_ns, std::uint64_t orders, bool trades) {
  ++round_;
  time_.advance_to(time_.now_ns() + step_ns);
  fabric_.execute_due();
  end_stops();
  venue_.turn(time_.now_ns(), trades);
  const std::size_t first = random_.below(2);
  const bool due = time_.now_ns() >= next_tick_ns_;
  if (due) next_tick_ns_ = time_.now_ns() + kTickNs;
  if (due && around_.witness_up) saved_word_ = around_.witness_block().word;
  for (const std::size_t at : {first, 1 - first}) act(*places_[at], due || random_.one_in(4));
  for (; orders != 0; --orders)
    for (auto& place : places_) {
      acting_ = place.get();
      ordered_ += place->order() ? 1 : 0;
    }
  acting_ = nullptr;
  watch();
}

void World::act(Place& place, bool ticks) {
  acting_ = &place;
  place.turn();
  if (ticks) place.tick();
  acting_ = nullptr;
}

// -------------------------------------------------------------------------------------- faults

void World::disturb() {
  Place& place = *places_[random_.below(2)];
  if (faults_.witness && random_.one_in(4))
    disturb_witness();
  else if (faults_.cuts && random_.one_in(3))
    cut_a_link(place);
  else if (place.life() == Place::Life::kEnded)
    start(place);
  else
    disturb(place);
}

void World::disturb_witness() {
  if (!around_.witness_up) return restart_witness(faults_.forgetful && random_.one_in(2));
  tell("the witness ends");
  fabric_.end(kWitnessProcess);
  around_.witness_up = false;
}

void World::cut_a_link(const Place& place) {
  const bool of_pair = random_.one_in(2);
  tell(of_pair ? "the pair's link is cut" : "a link to the witness is cut: oeg", place.id());
  fabric_.cut(place.id(), of_pair ? 3 - place.id() : kWitnessProcess);
  if (random_.one_in(2)) return;  // it can be made again at once
  (of_pair ? around_.peers_see_each_other : around_.witness_seen[place.id()]) = false;
  links_heal_ns_ = time_.now_ns() + random_.below(200 * kMs);
}

void World::start(Place& place) {
  const bool sees_witness = around_.witness_up && around_.witness_seen[place.id()];
  if (faults_.memories && random_.one_in(2)) {
    tell("starts on another host: oeg", place.id());
    needs_person_ = true;
    place.lose_memory();
  } else if (faults_.copies && place.has_copy() && sees_witness) {
    tell("starts with its copy: oeg", place.id());
    needs_person_ = true;
    acting_ = &place;
    place.put_copy_back();
    acting_ = nullptr;
    note_lost_epochs();
  }
  tell("starts: oeg", place.id());
  place.start();
}

void World::disturb(Place& place) {
  const std::uint64_t pick = random_.below(8);
  if (pick == 0 && faults_.ends) {
    tell("ends: oeg", place.id());
    place.end();
    if (faults_.memories && random_.one_in(2)) start(place);
  } else if (pick == 1 && faults_.steps) {
    end_at_a_step(place);
  } else if (pick <= 3 && faults_.stops) {
    stop(place);
  } else if (pick == 4 && faults_.disks) {
    place.disk_full = !place.disk_full;
    tell(place.disk_full ? "its disk is full: oeg" : "its disk has room: oeg", place.id());
  } else if (pick == 5 && faults_.power) {
    tell("loses its power: oeg", place.id());
    needs_person_ = true;
    place.lose_power(random_.one_in(2));
  } else if (pick == 6 && faults_.copies) {
    tell("is copied: oeg", place.id());
    place.copy_disk();
  } else if (pick == 7 && faults_.hand_overs) {
    tell("hands over: oeg", place.id());
    place.hand_over();
  }
}

void World::end_at_a_step(Place& place) {
  tell("is to end at a step: oeg", place.id());
  const auto step = 1 + random_.below(static_cast<std::uint64_t>(oeg::Step::kLast));
  const bool by_power = faults_.power && random_.one_in(2);
  needs_person_ |= by_power;
  place.end_at(static_cast<oeg::Step>(step), static_cast<std::uint32_t>(random_.below(4)),
               by_power);
}

void World::stop(Place& place) {
  (random_.one_in(2) ? place.stopped : place.stuck) = true;
  tell(place.stuck ? "takes nothing: oeg" : "is stopped: oeg", place.id());
  const std::uint64_t most_ns = random_.one_in(2) ? 1'500 * kMs : 80 * kMs;
  goes_on_ns_[static_cast<std::size_t>(place.id() - 1)] = time_.now_ns() + random_.below(most_ns);
}

void World::end_stops() {
  for (std::size_t at = 0; at < places_.size(); ++at) {
    const bool is_replaced = places_[at]->stopped && places_[1 - at]->takes_over();
    if (time_.now_ns() >= goes_on_ns_[at] || (is_replaced && random_.one_in(4)))
      places_[at]->stopped = places_[at]->stuck = false;
  }
  if (time_.now_ns() < links_heal_ns_) return;
  if (!around_.peers_see_each_other) around_.peers_met_ns = time_.now_ns();
  around_.peers_see_each_other = true;
  around_.witness_seen[1] = around_.witness_seen[2] = true;
}

void World::restart_witness(bool forgets) {
  tell(forgets ? "the witness starts, and has forgotten" : "the witness starts");
  if (forgets) {
    saved_word_ = 0;
    needs_person_ = true;
  }
  wire::WitnessBlock& block = around_.witness_block();
  block = {};
  block.word = saved_word_;
  block.incarnation = random_.next() | 1;
  around_.witness_up = true;
  note_lost_epochs();
}

// A place that led in an epoch may be put back to before it. If the witness has lost that word,
// too, nobody remembers it, and no program can know that a book lacks its trades (docs/PAIRS.md).
void World::note_lost_epochs() {
  for (const auto& place : places_)
    if (place->is_put_back() && around_.witness_word().epoch < place->led_in())
      around_.books_are_old = true;
}

void World::heal() {
  goes_on_ns_ = {};
  links_heal_ns_ = 0;
  end_stops();
  for (auto& place : places_) {
    place->disk_full = false;
    place->end_at(oeg::Step::kNone, 0, false);
    place->start();
  }
  if (!around_.witness_up) restart_witness(false);
  fabric_.set_delays(of_an_adapter());
  faults_ = {};
}

// ------------------------------------------------------------------------------- what must hold

void World::watch() {
  tell_changes();
  if (!around_.problem.empty()) problem(around_.problem);
  if (!venue_.problem().empty() && !around_.books_are_old) problem(venue_.problem());
  if (places_[0]->leads_alone() && places_[1]->leads_alone()) problem("two lead");
  for (auto& place : places_) watch_room(*place);
  if (!faults_.none() || around_.books_are_old || fault_mille_ != 0) return;
  for (auto& place : places_)
    if (place->runs() && place->pair()->counters().standbys_lost.get() != 0)
      problem("a standby that was well was given up");
}

// Kills' cancels need room: a leader whose log is full has some again soon. A standby whose disk is
// full gives itself up soon.
void World::watch_room(Place& place) {
  std::uint64_t& since = without_room_ns_[static_cast<std::size_t>(place.id() - 1)];
  const bool turns = place.runs() && !place.stopped && !place.stuck;
  const bool waits = turns && place.leads() && place.journal().has_room_for_reports() &&
                     !place.pair()->log().has_room_for_reports();
  const bool stays = turns && place.pair()->stage() == Pair::Stage::kFollowing &&
                     place.pair()->status().stands_by() && place.journal().left_to_follow() == 0;
  if (!waits && !stays) since = 0;
  if ((waits || stays) && since == 0) since = time_.now_ns();
  if ((!waits && !stays) || time_.now_ns() - since <= kWithoutRoomNs) return;
  problem(waits ? "the leader waits for one that takes nothing"
                : "a standby without room in its journal stays");
}

bool World::is_well() {
  for (std::size_t at = 0; at < places_.size(); ++at) {
    Place& leader = *places_[at];
    Place& standby = *places_[1 - at];
    if (!leader.leads() || !leader.logged_on() || !standby.runs()) continue;
    if (standby.pair()->status().stands_by() && !leader.pair()->word().alone) return true;
    if (around_.books_are_old && standby.pair()->status().stands_by()) return true;
  }
  return false;
}

// A person's word, where something was lost that no program can know of.
void World::operate() {
  if (!needs_person_) return;
  for (auto& place : places_)
    if (place->leads() || (place->runs() && place->pair()->stage() == Pair::Stage::kLeading &&
                           !place->pair()->status().blocked()))
      return;
  const auto waits = [](Place& place) {
    return place.life() == Place::Life::kBegins || place.waits_for_word();
  };
  // The one that knows more.
  const auto knows = [&](Place& place) {
    return waits(place) ? 1 + (place.has_memory() ? 1 : 0) + (place.waits_for_word() ? 1 : 0) : 0;
  };
  Place& chosen = knows(*places_[0]) >= knows(*places_[1]) ? *places_[0] : *places_[1];
  if (!waits(chosen)) return;
  tell("a person says that it leads: oeg", chosen.id());
  chosen.tell_to_lead();
}

bool World::settles() {
  const std::uint64_t begun = time_.now_ns();
  bool operated = false;
  std::uint64_t wanted = 0;
  while (time_.now_ns() < begun + kSettlesNs && outcome_.problem.empty()) {
    round(random_.one_in(4) ? 5 * kMs : kMs, 0, false);
    for (auto& place : places_) place->start();
    if (!operated && time_.now_ns() > begun + kPersonNs) {
      operated = true;
      operate();
    }
    if (around_.books_are_old && (places_[0]->leads() || places_[1]->leads())) return true;
    if (!is_well()) continue;
    if (wanted == 0) wanted = venue_.taken() + kOrdersAfter;
    if (venue_.taken() >= wanted) return true;
    round(kMs, 1, false);
  }
  return !outcome_.problem.empty();
}

// ------------------------------------------------------------------------------------- accounts

// What is on its way arrives. A standby whose disk was full may give itself up until then, and
// join.
bool World::all_arrives() {
  for (int i = 0; i < 4000 && outcome_.problem.empty(); ++i) {
    round(kMs, 0, false);
    bool arrived = i > 4 && venue_.idle() && is_well();
    for (auto& place : places_) {
      place->start();
      arrived &= place->store().next_target == venue_.reports() + 1 && !place->has_unsent();
    }
    if (arrived) return true;
  }
  return false;
}

void World::compare() {
  if (around_.books_are_old) return;
  if (!all_arrives()) problem("what the venue reports does not arrive");
  for (auto& place : places_)
    if (place->runs()) compare(*place);
}

void World::compare(Place& place) {
  const std::string who = "oeg " + std::to_string(place.id()) + ": ";
  place.journal().catch_up();
  const oeg::JournalState& state = place.journal().state();
  if (state.impossible != 0) problem(who + "records that do not follow from those before");
  compare_positions(state, who);
  compare_orders(state, who);
}

void World::compare_positions(const oeg::JournalState& state, const std::string& who) {
  std::int64_t position = 0;
  std::int64_t cash = 0;
  for (std::uint32_t row = 0; row < state.ledger.position_count(); ++row) {
    position += state.ledger.position(row).row.position_shares;
    cash += state.ledger.position(row).row.cash;
  }
  if (position != venue_.position() || cash != venue_.cash())
    problem(who + "it has " + std::to_string(position) + " shares for " + std::to_string(cash) +
            ", the venue " + std::to_string(venue_.position()) + " for " +
            std::to_string(venue_.cash()));
}

void World::compare_orders(const oeg::JournalState& state, const std::string& who) {
  std::uint64_t open = 0;
  for (const auto& [id, order] : venue_.orders()) open += order.leaves != 0 ? 1 : 0;
  std::uint64_t known = 0;
  for (const oeg::JournalState::StrategyIds& ids : state.strategies)
    state.ledger.for_each(ids.strategy, [&](const oeg::Order& order) {
      const auto at_venue = venue_.orders().find(order.id);
      if (at_venue == venue_.orders().end())
        problem(who + "an order that the venue never had");
      else if (at_venue->second.leaves == order.leaves)
        ++known;
    });
  if (known != open)
    problem(who + "it knows " + std::to_string(known) + " of " + std::to_string(open) +
            " open orders");
}

}  // namespace tickpath::simulation
