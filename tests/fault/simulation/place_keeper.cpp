// What goes on on the control thread of a place: oeg/pair_keeper.cpp in a few lines.
#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "common/base/error.hpp"
#include "tests/fault/simulation/place.hpp"

namespace tickpath::simulation {
namespace {

using oeg::Pair;
using Role = oeg::Succession::Role;

constexpr std::uint32_t kLogBytes = 1u << 16;
constexpr std::uint64_t kSegmentRecords = 640;
// As in oeg/pair_keeper.cpp.
constexpr std::uint64_t kTryAgainNs = 50'000'000;
constexpr std::uint64_t kWitnessTryNs = 200'000'000;
constexpr std::uint64_t kAskPeerNs = 500'000'000;
constexpr std::uint64_t kSuccessorNs = 1'000'000'000;
constexpr std::uint64_t kOtherClaimsNs = 2'000'000'000;
constexpr std::uint64_t kSnapshotNs = 5'000'000'000;

oeg::PairOptions pair_options(int id) {
  oeg::PairOptions options;
  options.place = static_cast<std::uint8_t>(id);
  options.log_bytes = kLogBytes;
  return options;
}

}  // namespace

void Place::tick() {
  if (process_ == nullptr || stopped) return;
  try {
    if (life_ == Life::kBegins)
      begin();
    else if (life_ == Life::kJoins)
      read_snapshot();
    else if (life_ == Life::kRuns)
      run();
  } catch (const Error&) {
    end();  // it says what is wrong, and ends
  }
  if (left_) end();
}

void Place::begin() {
  Process& process = *process_;
  if (!process.begun) {
    if (process.remembers) begin_again();
    if (!process.begun && process.remembers) return;
    process.begun = true;
  }
  if (process.rules.may_take_back() && !ends_waiting_for_successor()) return;
  if (process.rules.role() == Role::kOutsider) {
    if (around_.now() < process.next_try_ns) return;
    process.next_try_ns = around_.now() + kTryAgainNs;
    try_to_join();
    if (life_ != Life::kBegins) return;
    const bool told = std::exchange(told_to_lead_, false);
    if (!told && !may_found()) return;
    if (!told && other_->remembers_a_leader())
      around_.problem = "a pair is founded beside one that remembers a leader";
    const wire::WitnessBlock* const block = told ? witness() : nullptr;
    process.rules.found(block != nullptr ? wire::Leadership::of_word(block->word)
                                         : wire::Leadership{});
    remember();
    if (told) around_.books_are_old = true;
  }
  begin_to_run();
}

void Place::remember() {
  process_->memory.store(process_->rules);
  sync();
}

void Place::sync() {
  if (!around_.keeps(Habit::kSyncsItsMemory)) return;
  process_->memory.sync();
  note_synced_memory();
}

void Place::begin_again() {
  Process& process = *process_;
  const bool led = process.rules.role() == Role::kLeader || process.rules.role() == Role::kClaimant;
  if (led && !process.memory.is_of_this_boot() && around_.keeps(Habit::kAsksBeforeItLeads)) {
    process.begun = begin_after_boot();
    return;
  }
  const bool of_this_boot = process.memory.is_of_this_boot();
  if (!of_this_boot) process.rules.renounce();
  std::optional<wire::Leadership> found;
  if (const wire::WitnessBlock* const block = witness();
      block != nullptr && around_.keeps(Habit::kAsksBeforeItLeads))
    found = wire::Leadership::of_word(block->word);
  process.may_be_superseded = !of_this_boot && !found;
  if (!of_this_boot && found) process.rules.look_back_after_boot(*found);
  process.rules.begin_again(found);
  remember();
  process.begun = true;
}

// After a hand-over, as PairKeeper::wait_for_successor.
bool Place::ends_waiting_for_successor() {
  Process& process = *process_;
  if (process.successor_until_ns == 0) process.successor_until_ns = around_.now() + kSuccessorNs;
  const bool led = is_answered_by_other() && other_->leads();
  if (!led && around_.now() < process.successor_until_ns) return false;
  led ? process.rules.renounce() : process.rules.take_back();
  remember();
  return true;
}

// False: the witness is not there yet, or it takes a person's word.
bool Place::begin_after_boot() {
  const wire::WitnessBlock* const block = witness();
  const auto word = wire::Leadership::of_word(block == nullptr ? 0 : block->word);
  if (block != nullptr) process_->rules.look_back_after_boot(word);
  process_->led_alone = word.alone && word.leader == id_;
  process_->other_answered = is_answered_by_other();
  const bool other_waits =
      is_answered_by_other() && !other_->leads() && other_->pair()->status().waits_whole();
  const bool other_is_whole = block != nullptr && other_waits &&
                              process_->rules.other_is_whole(word, other_->pair()->word());
  const bool lost = is_answered_by_other() && other_->leads() &&
                    oeg::Succession::is_lost(process_->rules.word(), other_->leads_by());
  if (other_is_whole || lost) {
    process_->may_be_superseded = lost;
    process_->rules.renounce();
    remember();
    return true;
  }
  if (process_->other_claims_until_ns == 0)
    process_->other_claims_until_ns = around_.now() + kOtherClaimsNs;
  const bool other_may_claim = is_answered_by_other() && !other_->leads() && !other_waits &&
                               process_->rules.needs_confirmation() &&
                               around_.now() < process_->other_claims_until_ns;
  if (block == nullptr || other_may_claim) return false;
  if (!process_->rules.begin_after_boot(word, block->incarnation)) {
    if (!std::exchange(told_to_lead_, false)) return false;
    process_->rules.found(word);
    around_.books_are_old = true;
  }
  remember();
  return true;
}

wire::WitnessBlock* Place::witness() const noexcept {
  if (!around_.witness_up || !around_.witness_seen[id_]) return nullptr;
  return &around_.witness_block();
}

bool Place::may_found() {
  wire::WitnessBlock* const block = witness();
  if (process_->remembers || block == nullptr) return false;
  if (id_ == 2) block->newcomer = 1;
  const bool two = block->newcomer != 0 || !around_.keeps(Habit::kFoundsWithTwo);
  return id_ == 1 && block->word == 0 && two;
}

bool Place::is_answered_by_other() const noexcept {
  return around_.peers_see_each_other && other_->runs() && !other_->stopped && !other_->left_;
}

void Place::try_to_join() {
  if (const wire::WitnessBlock* const block = witness();
      block != nullptr && std::exchange(process_->may_be_superseded, false))
    process_->rules.look_back_after_boot(wire::Leadership::of_word(block->word));
  if (!is_answered_by_other() || !other_->accept_joiner(*this)) return;
  life_ = Life::kJoins;
  process_->joins_until_ns = around_.now() + kSnapshotNs;
}

// As of the one that is asked.
bool Place::accept_joiner(Place& joiner) {
  Process& theirs = *joiner.process_;
  const bool knows = theirs.remembers && !theirs.rules.superseded() && !theirs.may_be_superseded;
  const bool renounces = knows || !around_.keeps(Habit::kTrustsNoNewcomer);
  const wire::Leadership renounced = theirs.rules.renounced();
  if (!leads()) {
    if (renounces && pair()->stage() != Pair::Stage::kTakingOver)
      pair()->commands().peer_renounced(renounced);
    return false;
  }
  pair()->commands().peer_joins(renounced);
  theirs.log = std::make_unique<link::ReplicatedLog>(theirs.device, kLogBytes, "log");
  const std::array granted_by_joiner{theirs.log->grant(), theirs.heartbeat.grant()};
  const rdma::Grant granted = process_->heartbeat.grant();
  auto [to_leader, to_joiner] =
      around_.fabric.connect(joiner.id_, granted_by_joiner, id_, {&granted, 1});
  theirs.leader = std::move(to_leader);
  pair()->connections().adopt(std::move(to_joiner), renounces ? Pair::kStandby : Pair::kNewcomer);
  return true;
}

void Place::read_snapshot() {
  Process& process = *process_;
  try {
    if (process.leader->failed() || around_.now() > process.joins_until_ns || !other_->runs())
      throw Error("the leader is not there any more");
    if (!is_answered_by_other() || other_->pair()->log().streams_from() == 0) return;
    const auto [checkpoint, store] = other_->snapshot();
    install(checkpoint, store);
  } catch (const Error&) {
    process.leader.reset();
    process.log.reset();
    life_ = Life::kBegins;
    return;
  }
  if (!process.remembers) process.rules.join_as_newcomer();
  remember();
  old_ = put_back_ = false;
  begin_to_run();
}

void Place::install(const std::string& checkpoint, const Store& store) {
  own_.begin();
  try {
    if (disk_full) throw SystemError("no room for the snapshot", ENOSPC);
    std::ofstream(file(".journal.checkpoint"), std::ios::binary) << checkpoint;
  } catch (...) {
    own_.put_back();
    throw;
  }
  store_ = store;
}

void Place::keep_own() {
  const bool joined = pair()->status().stands_by() || pair()->stage() == Pair::Stage::kLeading;
  if (joined && !std::exchange(process_->own_kept, true)) own_.keep();
}

// As of the one that leads.
std::pair<std::string, Store> Place::snapshot() { return {process_->journal->snapshot(), store_}; }

// Its datapath and its control thread, from their beginning on.
void Place::begin_to_run() {
  Process& process = *process_;
  process.journal = std::make_unique<oeg::Journal>(journal_options());
  process.pair = std::make_unique<Pair>(pair_options(id_), link::HeartbeatOptions{}, process.device,
                                        nullptr, *process.journal, store_, process.memory,
                                        process.rules, around_.hot_log);
  process.pair->follow(std::move(process.log));
  if (process.leader != nullptr)
    process.pair->connections().adopt(std::move(process.leader), Pair::kLeader);
  process.leading = process.pair->stage() == Pair::Stage::kLeading;
  if (process.leading) recover();
  life_ = Life::kRuns;
}

oeg::JournalOptions Place::journal_options() {
  const bool joined = process_->log != nullptr;
  oeg::JournalOptions options{.path = file(".journal"), .records = kSegmentRecords};
  options.archived_max = 1;
  options.to_lead = joined || process_->rules.role() == Role::kClaimant;
  options.log_records = kLogBytes / link::log_entry_bytes(sizeof(oeg::JournalRecord));
  options.sizes = {512, 4, 4, 1024};
  if (joined && !around_.keeps(Habit::kResumesWhatItJoined))
    options.start = oeg::JournalStart::kFresh;
  options.step = [this] {
    if (disk_full) throw SystemError("no room", ENOSPC);
  };
  return options;
}

void Place::run() {
  Process& process = *process_;
  if (process.pair->status().waits_for_word() && std::exchange(told_to_lead_, false))
    lead_by_hand();
  if (std::exchange(process.stage_changed, false)) on_stage();
  if (process_.get() != &process || life_ != Life::kRuns) return;
  process.pair->collect();
  process.memory.sync();
  keep_own();
  note_synced_memory();
  maintain_journal();
  connect_witness();
  ask_peer();
}

void Place::lead_by_hand() {
  const wire::WitnessBlock* const block = witness();
  pair()->commands().found(block != nullptr ? wire::Leadership::of_word(block->word)
                                            : wire::Leadership{});
  around_.books_are_old = true;
}

void Place::note_synced_memory() {
  Process& process = *process_;
  if (!around_.power_may_fail || process.memory.load() == process.synced) return;
  process.synced = process.memory.load();
  synced_memory_ = read_memory();
}

// A call costs more than the rest of a round: none where there is nothing to do.
void Place::maintain_journal() {
  Process& process = *process_;
  const std::uint64_t size = process.journal->size().get();
  if (size == process.maintained && process.journal->has_next()) return;
  process.maintained = size;
  process.journal->maintain(around_.now());
}

void Place::connect_witness() {
  Process& process = *process_;
  if (process.pair->witness().is_used() ||
      process.pair->witness().connections_taken() != process.witnesses_made ||
      around_.now() < process.next_witness_ns)
    return;
  process.next_witness_ns = around_.now() + kWitnessTryNs;
  if (witness() == nullptr) return;
  const rdma::Grant granted{around_.witness_region.get(), rdma::kRemoteRead | rdma::kRemoteAtomic};
  auto [ours, theirs] = around_.fabric.connect(id_, {}, kWitnessProcess, {&granted, 1});
  std::erase_if(around_.witness_links, [](const auto& link) { return link->failed(); });
  around_.witness_links.push_back(std::move(theirs));
  process.pair->connections().adopt(std::move(ours), Pair::kWitness);
  ++process.witnesses_made;
}

void Place::ask_peer() {
  Process& process = *process_;
  const std::uint64_t now = around_.now();
  if (!process.pair->status().waits_in_vain(now) || now < process.next_ask_ns) return;
  process.next_ask_ns = now + kAskPeerNs;
  if (!is_answered_by_other()) return;
  Pair& theirs = *other_->pair();
  if (other_->leads())
    (void)process.pair->other_leads(other_->leads_by());
  else if (theirs.status().waits_in_vain(now) &&
           theirs.status().gives_way_to(process.pair->status().books_may_be_cut()))
    theirs.commands().give_way();
}

// What it answers where it leads.
wire::Leadership Place::leads_by() const noexcept {
  const Pair& pair = *process_->pair;
  return {pair.word().epoch, static_cast<std::uint8_t>(id_), !pair.status().has_standby()};
}

void Place::on_stage() {
  Process& process = *process_;
  if (process.pair->stage() == Pair::Stage::kTakingOver) {
    sync();
    (void)process.pair->revoke_former();
    process.journal->catch_up();
    recover();
    at(oeg::Step::kRecovered);
    process.pair->recovered();
  } else if (process.pair->stage() == Pair::Stage::kRetired) {
    start_anew();
  }
}

}  // namespace tickpath::simulation
