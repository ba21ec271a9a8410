#include "oeg/pair_keeper.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/base/exec_again.hpp"
#include "common/base/replace_file.hpp"
#include "common/log/log.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/refusals.hpp"
#include "common/wire/witness.hpp"
#include "oeg/pair_answers.hpp"
#include "oeg/pair_reads.hpp"

namespace tickpath::oeg {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTryAgain{50};
constexpr std::int64_t kWitnessTryNs = 200'000'000;
constexpr std::int64_t kSecondTryNs = 50'000'000;  // of two
// A set-up with certificates may take seconds where hosts are busy; whoever joins has nothing else
// to do.
constexpr std::uint32_t kConnectMs = 3000;
// Between two questions to the other one, while a word is waited for.
constexpr std::int64_t kAskPeerNs = 500'000'000;
// So long one that has handed over waits for its successor: a switch takes some 10 ms.
constexpr std::int64_t kSuccessorNs = 1'000'000'000;
constexpr std::int64_t kSnapshotNs = 5'000'000'000;
constexpr std::chrono::milliseconds kSnapshotTry{5};
// Until the datapath has heard a person's word: a turn or two, unless it does not run.
constexpr std::int64_t kFoundNs = 1'000'000'000;
constexpr std::chrono::milliseconds kFoundLook{1};
// A pair's leader whose host was started waits so long for a standby that runs. That one has the
// whole book, and its takeover takes some 20 ms.
constexpr std::int64_t kOtherClaimsNs = 2'000'000'000;
// A takeover that takes longer waits for somebody else, not for a CPU.
constexpr std::int64_t kTakeoverNs = 1'000'000'000;

// This process anew, with nothing of what it believed.
[[noreturn]] void start_anew() {
  log::flush();
  log::error("cannot start anew: {}", std::strerror(exec_again()));
  log::flush();
  std::_Exit(1);
}

}  // namespace

PairKeeper::PairKeeper(const OegConfig& config, control::Runtime& runtime)
    : config_(config),
      runtime_(runtime),
      start_(config.pair),
      remembers_(start_.memory.load().has_value()),
      questions_(config, runtime.device(), runtime.name(), remembers_),
      own_(config.journal.path, {config.session_options().store_path, config.exceptions_file}),
      snapshot_readers_(runtime.device()),
      question_(runtime.device(), nullptr) {}

// --------------------------------------------------------------------------------- the beginning

void PairKeeper::begin() {
  look_for_pair();
  founding_.close();
}

void PairKeeper::look_for_pair() {
  if (start_.memory.was_copied())
    log::warning(
        "{} is a copy, of a backup or of another host: this oeg has no memory of its pair. It asks "
        "to join the other one; if it is to lead: `tickpath pair found`",
        config_.pair.file);
  if (remembers_) begin_again();
  if (start_.rules.may_take_back()) wait_for_successor();
  while (start_.rules.role() == Succession::Role::kOutsider && start_.log == nullptr &&
         !runtime_.stop_wanted()) {
    try {
      if (join()) return;
    } catch (const std::exception& error) {  // also of its files: a disk that is full, for now
      start_.spool.reset();
      start_.log.reset();
      start_.leader.reset();
      if (why_ != error.what())
        log::info("the pair has no leader to join yet, tries again: {}", error.what());
      why_ = error.what();
    }
    if (is_told_to_lead()) return;
    if (may_found()) {
      start_.rules.found();
      start_.founds = true;
      remember();
      log::info("this oeg leads: neither of the pair, nor its witness, knows of a leader before");
      return;
    }
    std::this_thread::sleep_for(kTryAgain);
  }
}

// On the disk as well, before anything follows from it. Whoever asks to join has renounced. After a
// loss of power its memory must not have a right that was given up before.
void PairKeeper::remember() {
  start_.memory.store(start_.rules);
  sync_memory();
  remembers_ = true;
  questions_.remembers();
}

void PairKeeper::sync_memory() {
  const int error = start_.memory.sync();
  if (std::exchange(sync_error_, error) == error || error == 0) return;
  log::error("{} does not reach the disk ({}): after a power cut this oeg may not know that it led",
             config_.pair.file, std::strerror(error));
}

void PairKeeper::begin_again() {
  Succession& rules = start_.rules;
  const bool led =
      rules.role() == Succession::Role::kLeader || rules.role() == Succession::Role::kClaimant;
  const bool of_this_boot = start_.memory.is_of_this_boot();
  if (!of_this_boot) {
    if (led) return begin_after_boot();
    rules.renounce();
  }
  std::optional<wire::Leadership> found;
  if (const auto block = questions_.newest_word(false))
    found = wire::Leadership::of_word(block->word);
  // No witness is there: the other one may have been made leader by a person meanwhile.
  const auto theirs =
      led && !found ? leads_by(questions_.who_leads(), other_place()) : std::nullopt;
  if (theirs && Succession::is_lost(rules.word(), *theirs)) rules.renounce();
  const std::uint32_t known = rules.word().epoch;
  may_be_superseded_ = !of_this_boot && !found;
  if (!of_this_boot && found) rules.look_back_after_boot(*found);
  rules.begin_again(found);
  remember();
  if (led && rules.role() == Succession::Role::kOutsider)
    log::warning(
        "this oeg led in epoch {}, and the witness knows of epoch {} (is {} a copy that was put "
        "back?): it joins its pair",
        known, rules.word().epoch, config_.pair.file);
}

// After a hand-over. The successor may have died before it read that it is to lead, and then has to
// join. To ask to join is to renounce, so this oeg only asks who leads. Where nobody does, it asks
// the witness for its place again.
void PairKeeper::wait_for_successor() {
  const std::int64_t until = clock::monotonic_ns() + kSuccessorNs;
  while (!runtime_.stop_wanted() && clock::monotonic_ns() < until) {
    if (questions_.who_leads().starts_with(wire::kLeadsInEpoch)) break;
    std::this_thread::sleep_for(kTryAgain);
  }
  if (runtime_.stop_wanted()) return;
  const bool led = clock::monotonic_ns() < until;
  if (!led) log::warning("this oeg has handed over, and nobody leads: it asks for its place again");
  led ? start_.rules.renounce() : start_.rules.take_back();
  remember();
}

// The witness knows whether the other one has led since. To join is to renounce, so this one asks
// the witness first, and does nothing before it has answered.
void PairKeeper::begin_after_boot() {
  log::info("the host was started since this oeg led: it asks the witness at {} before it leads",
            questions_.witnesses());
  const std::int64_t other_claims_until = clock::monotonic_ns() + kOtherClaimsNs;
  while (!runtime_.stop_wanted()) {
    // The witness may have ended before it had saved the word by which the other one leads. An
    // earlier leader may not know yet that this oeg has led since.
    const std::string answer = questions_.who_leads();
    const auto theirs = leads_by(answer, other_place());
    const bool lost = theirs && Succession::is_lost(start_.rules.word(), *theirs);
    const auto block = lost ? std::nullopt : questions_.newest_word(true);
    const auto word = wire::Leadership::of_word(block ? block->word : 0);
    // A standby that waits for the word has all that a pair's leader had. This one's journal may
    // have lost its end.
    const auto waits = waits_by(answer, config_.pair.place);
    const bool other_is_whole = block && waits && start_.rules.other_is_whole(word, *waits);
    if (block) start_.rules.look_back_after_boot(word);
    if (lost || other_is_whole) {
      may_be_superseded_ = lost;  // no witness was asked
      start_.rules.renounce();
      return remember();
    }
    const bool other_may_claim = answer == wire::kDoesNotLead &&
                                 start_.rules.needs_confirmation() &&
                                 clock::monotonic_ns() < other_claims_until;
    if (!other_may_claim && block && start_.rules.begin_after_boot(word, block->incarnation)) {
      remember();
      return;
    }
    if (!other_may_claim && block && std::exchange(epoch_told_, word.epoch) != word.epoch)
      log::warning(
          "this oeg led in epoch {}, and the witness knows of epoch {} only: it waits for a "
          "person's word (`tickpath pair found`)",
          start_.rules.word().epoch, word.epoch);
    if (is_told_to_lead()) return;
    std::this_thread::sleep_for(kTryAgain);
  }
  start_.rules.renounce();  // here alone: the next start asks again
}

bool PairKeeper::join() {
  auto log =
      std::make_unique<link::ReplicatedLog>(runtime_.device(), config_.pair.log_bytes, "oeg.log");
  const rdma::Grant grants[] = {log->grant(), runtime_.heartbeat().grant()};
  wire::Hello hello = questions_.hello(wire::Service::kStandby);
  if (renounces_what_it_had()) hello.flags = wire::kRemembers;
  hello.parameters[1] = start_.rules.renounced().word();
  link::TableConnection leader =
      link::connect_tables(runtime_.device(), config_.pair.peer, link::bytes_of(hello), grants,
                           kConnectMs, std::string(wire::name(wire::Role::kOeg)));
  start_.log = std::move(log);
  start_.spool = std::make_unique<LogSpool>(*start_.log);
  const std::int64_t begun = clock::monotonic_ns();
  const std::string snapshot = read_snapshot();
  const std::int64_t read = clock::monotonic_ns();
  install(snapshot);
  start_.leader = std::move(leader.connection);
  if (!remembers_) start_.rules.join_as_newcomer();
  remember();  // it has renounced, and has never to found a pair again
  constexpr std::int64_t kMs = 1'000'000;
  log::info("this oeg joins {}: read {} bytes in {} ms, on the disk after {} ms", config_.pair.peer,
            snapshot.size(), (read - begun) / kMs, (clock::monotonic_ns() - begun) / kMs);
  return true;
}

// Whether this oeg knows all that it gives up by asking to join.
bool PairKeeper::renounces_what_it_had() {
  if (const auto block = may_be_superseded_ ? questions_.newest_word(false) : std::nullopt) {
    may_be_superseded_ = false;
    start_.rules.look_back_after_boot(wire::Leadership::of_word(block->word));
  }
  return !may_be_superseded_ && remembers_ && !start_.rules.superseded();
}

std::string PairKeeper::read_snapshot() {
  const wire::Hello hello = questions_.hello(wire::Service::kSnapshot);
  const std::int64_t deadline = clock::monotonic_ns() + kSnapshotNs;
  for (;;) {
    try {
      const link::TableConnection source =
          link::connect_tables(runtime_.device(), config_.pair.peer, link::bytes_of(hello), {},
                               kConnectMs, std::string(wire::name(wire::Role::kOeg)));
      const auto extras = source.connection->extras();
      if (extras.empty()) throw Error("the peer has granted no snapshot");
      return read_all(runtime_.device(), *source.connection, extras[0], extras[0].length_bytes);
    } catch (const rdma::SetupError& error) {
      // Its datapath has not begun to stream yet, or the snapshot is being made.
      if (error.cause() != rdma::SetupCause::kRefused || clock::monotonic_ns() > deadline) throw;
      std::this_thread::sleep_for(kSnapshotTry);
    }
  }
}

// What it had itself is set aside: the leader's is right.
void PairKeeper::install(const std::string& snapshot) const {
  SnapshotHeader header{};
  if (snapshot.size() < sizeof(header)) throw Error("the peer's snapshot is too short");
  std::memcpy(&header, snapshot.data(), sizeof(header));
  std::string_view rest = std::string_view(snapshot).substr(sizeof(header));
  const auto take = [&rest](std::uint64_t bytes) {
    if (bytes > rest.size()) throw Error("the peer's snapshot is shorter than it says");
    const std::string_view part = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return part;
  };
  const std::string_view checkpoint = take(header.checkpoint_bytes);
  const std::string_view messages = take(header.store_bytes);
  const std::string_view exceptions = take(header.exceptions_bytes);
  own_.begin();
  try {
    replace_file(config_.journal.path + ".checkpoint", {checkpoint});
    replace_file(config_.session_options().store_path, {messages});
    replace_file(config_.exceptions_file, {exceptions});
  } catch (...) {
    own_.put_back();
    throw;
  }
}

// What it had before it joined has served its purpose: it stands by, or leads.
void PairKeeper::keep_own() {
  const Pair& pair = *datapath_->pair();
  if (own_kept_ || !(pair.status().stands_by() || pair.stage() == Pair::Stage::kLeading)) return;
  own_kept_ = true;
  try {
    own_.keep();
  } catch (const std::exception& error) {
    log::warning("what this oeg had before it joined stays aside: {}", error.what());
  }
}

// Nobody has ever led: no witness has a word, and neither of the two remembers anything. Place 2
// says so to the witnesses, and place 1 begins. All of them are asked, for any may be the one that
// decides.
bool PairKeeper::may_found() {
  if (remembers_) return false;
  try {
    bool nobody_has_led = true;
    for (const std::string& endpoint : questions_.witness_endpoints()) {
      const wire::WitnessBlock block = questions_.witness(endpoint);
      nobody_has_led &= block.word == 0 && block.newcomer != 0;
      const std::uint32_t epoch = wire::Leadership::of_word(block.word).epoch;
      if (epoch > epoch_told_)
        log::warning(
            "this oeg remembers no leader, and the witness at {} knows of epoch {}: it waits for "
            "the other oeg, or for a person's word (`tickpath pair found`)",
            endpoint, epoch);
      epoch_told_ = std::max(epoch_told_, epoch);
    }
    return nobody_has_led && config_.pair.place == 1;
  } catch (const Error&) {
    return false;  // it is not there
  }
}

// A person knows what no program here can: that the other one does not lead, and will not.
bool PairKeeper::is_told_to_lead() {
  const std::optional<std::uint32_t> over = founding_.asked();
  if (!over) return false;
  const KnownOfPair known = questions_.ask_all();
  if (const std::string why = why_not_found(known, *over); !why.empty()) {
    log::warning("refused a person's word that this oeg leads: {}", why);
    founding_.refuse(why);
    return false;
  }
  start_.rules.found(known.word);
  remember();
  log::warning("this oeg leads, in epoch {}, by a person's word", start_.rules.word().epoch);
  founding_.grant(start_.rules.word().epoch);
  return true;
}

std::uint32_t PairKeeper::found(std::uint32_t over) {
  if (datapath_ == nullptr) return founding_.ask(over);
  if (datapath_->pair()->status().waits_for_word()) return lead_by_hand(over);
  const std::string epoch = std::to_string(datapath_->pair()->word().epoch);
  throw Error(datapath_->leads() ? "it leads already, in epoch " + epoch
                                 : "it has joined the other oeg, which led in epoch " + epoch +
                                       "; `tickpath switch oeg` moves leadership");
}

// This oeg runs, and waits for a word. The control thread waits here: while this oeg may not act it
// has nothing else to do that is urgent.
std::uint32_t PairKeeper::lead_by_hand(std::uint32_t over) {
  const KnownOfPair known = questions_.ask_all();
  if (const std::string why = why_not_found(known, over); !why.empty()) {
    log::warning("refused a person's word that this oeg leads: {}", why);
    throw Error(why);
  }
  Pair& pair = *datapath_->pair();
  pair.commands().found(known.word);
  datapath_->wake();
  const PairStatus& status = pair.status();
  const auto leads = [&] {
    const Pair::Stage stage = status.stage();
    return (stage == Pair::Stage::kTakingOver || stage == Pair::Stage::kLeading) &&
           !status.blocked();
  };
  const std::int64_t until = clock::monotonic_ns() + kFoundNs;
  while (!leads() && clock::monotonic_ns() < until) std::this_thread::sleep_for(kFoundLook);
  if (!leads()) throw Error("the witness has answered meanwhile: look again who leads");
  log::warning("this oeg leads, in epoch {}, by a person's word", pair.word().epoch);
  return pair.word().epoch;
}

// A stranger asks again and again. One line of the log is enough.
bool PairKeeper::keeps_out(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  const std::string why = why_stranger(config_, hello);
  if (why.empty()) return false;
  if (std::exchange(stranger_, why) != why) log::warning("refused {}: {}", request.peer(), why);
  request.reject(why);
  return true;
}

// ------------------------------------------------------------------------------------ afterwards

void PairKeeper::attach(OegDatapath& datapath, std::function<void()> complete,
                        std::function<void()> connect) {
  datapath_ = &datapath;
  stage_ = datapath.pair()->stage();
  complete_ = std::move(complete);
  connect_ = std::move(connect);
  keep_own();  // before anything is recorded by who leads
  stage_watch_ = runtime_.watch(datapath.pair_descriptor(), [this] {
    std::uint64_t count = 0;
    (void)!::read(datapath_->pair_descriptor(), &count, sizeof(count));
    on_stage();
  });
}

void PairKeeper::on_stage() {  // also where this one goes on alone, and waits for its memory
  const Pair::Stage stage = datapath_->pair()->stage();
  const bool changed = std::exchange(stage_, stage) != stage;
  if (changed && (stage == Pair::Stage::kTakingOver || stage == Pair::Stage::kLeading)) connect_();
  // Before anything is done by it. Otherwise a loss of power could make it forget that it has led,
  // and ask to join. An oeg that waits for a word takes such a request for a renunciation.
  sync_memory();
  if (changed && stage == Pair::Stage::kTakingOver) {
    const FenceResult fence = datapath_->pair()->revoke_former();
    datapath_->take_over(complete_);
    log::warning("this oeg takes over, epoch {}: {} records, {} open orders, {} never sent; {}",
                 datapath_->pair()->word().epoch, datapath_->recovery().records,
                 datapath_->recovery().open_orders, datapath_->recovery().unsent, in_words(fence));
  } else if (changed && stage == Pair::Stage::kRetired) {
    log::warning("the other oeg leads, or the leader's log is lost: this one becomes a standby");
    start_anew();
  }
}

void PairKeeper::be_quick() {
  const Pair& pair = *datapath_->pair();
  const TakeoverTimes& times = pair.takeover().times();
  const bool takes_over =
      times.decided_ns.get() != 0 && times.first_order_ns.get() == 0 &&
      clock::monotonic_ns() - static_cast<std::int64_t>(times.decided_ns.get()) < kTakeoverNs;
  const bool wanted = pair.stage() != Pair::Stage::kLeading || takes_over;
  if (wanted != std::exchange(real_time_, wanted)) (void)set_real_time(wanted);
}

void PairKeeper::tick() {
  be_quick();
  datapath_->pair()->collect();
  sync_memory();
  keep_own();
  make_snapshot();
  connect_witness();
  ask_peer();
}

// A step of it; or it goes, once nobody reads it any more.
void PairKeeper::make_snapshot() {
  snapshot_readers_.collect();
  if (snapshot_ == nullptr) return;
  try {
    if (!snapshot_->done()) return (void)snapshot_->step(runtime_.device());
  } catch (const Error& error) {  // the joiner asks for another one
    log::warning("cannot make the snapshot for the joining oeg, which asks again: {}",
                 error.what());
    snapshot_.reset();
    return;
  }
  if (snapshot_readers_.size() == 0 && clock::monotonic_ns() > snapshot_until_ns_)
    snapshot_.reset();
}

// Where the witness that decides is gone, the word that it had may have been given to the other one
// before. That one can tell: whoever leads in a later epoch has it.
void PairKeeper::ask_peer() {
  const std::int64_t now = clock::monotonic_ns();
  const bool waits = datapath_->pair()->status().waits_in_vain(static_cast<std::uint64_t>(now));
  try {
    if (question_.connecting()) return (void)question_.poll_connect();
    if (!waits || now < next_ask_ns_) return;
    next_ask_ns_ = now + kAskPeerNs;
    wire::Hello hello = questions_.hello(wire::Service::kStandby);
    hello.flags = wire::kAsksOnly;
    if (datapath_->pair()->status().books_may_be_cut()) hello.flags |= wire::kBooksMayBeCut;
    question_.start_connect(config_.pair.peer, link::bytes_of(hello), {}, 0,
                            std::string(wire::name(wire::Role::kOeg)));
  } catch (const rdma::SetupError& error) {
    take_answer(error.what());
  }
}

// The answer may come late. A witness that decides meanwhile comes first (Pair::other_leads()).
void PairKeeper::take_answer(std::string_view refusal) {
  const auto theirs = leads_by(refusal, other_place());
  if (!theirs || !datapath_->pair()->other_leads(*theirs)) return;
  log::warning("the oeg at {} leads, in epoch {}: this one gives up its claim, and joins",
               config_.pair.peer, theirs->epoch);
  datapath_->wake();
}

void PairKeeper::connect_witness() {
  Pair& pair = *datapath_->pair();
  try {
    if (pair.connections().connecting()) {
      if (pair.connections().poll_connect()) ++witnesses_made_;
      return;
    }
    const std::int64_t now = clock::monotonic_ns();
    const bool looked_at = pair.witness().connections_taken() == witnesses_made_;
    if (!looked_at || pair.witness().is_used() || now < next_witness_ns_) return;
    const bool two = !config_.pair.witness_standby.empty();
    next_witness_ns_ = now + (two ? kSecondTryNs : kWitnessTryNs);
    // In turn: which of two decides is found by asking.
    const bool second = two && std::exchange(second_witness_, !second_witness_);
    const wire::Hello hello = questions_.hello(wire::Service::kWitness);
    pair.connections().start_connect(second ? config_.pair.witness_standby : config_.pair.witness,
                                     link::bytes_of(hello), {}, Pair::kWitness,
                                     std::string(wire::name(wire::Role::kRisk)));
  } catch (const rdma::SetupError&) {
    // `status` says that there is no witness; it is tried again.
  }
}

// Both may wait for a witness that neither has. One of them gives up its claim, and joins. It waits
// as long before as who asks: its own question may just have got to a witness.
void PairKeeper::answer_peer(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  Pair& pair = *datapath_->pair();
  const auto now = static_cast<std::uint64_t>(clock::monotonic_ns());
  const bool may_be_cut = (hello.flags & wire::kBooksMayBeCut) != 0;
  PairStatus& status = pair.status();
  if (!datapath_->leads() && status.waits_in_vain(now) && status.gives_way_to(may_be_cut)) {
    log::warning("both oegs wait for a witness that does not decide: this one gives way and joins");
    pair.commands().give_way();
    datapath_->wake();
  }
  tell_who_leads(request);
}

void PairKeeper::tell_who_leads(rdma::ConnectionRequest& request) const {
  const PairStatus& pair = datapath_->pair()->status();
  const wire::Leadership word{pair.word().epoch, config_.pair.place, !pair.has_standby()};
  if (datapath_->leads()) return request.reject(leads_answer(word));
  request.reject(pair.waits_whole() ? waits_answer(pair.word()) : std::string(wire::kDoesNotLead));
}

void PairKeeper::accept_standby(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  Pair& pair = *datapath_->pair();
  if (keeps_out(request, hello)) return;
  if ((hello.flags & wire::kAsksWhoLeads) != 0) return tell_who_leads(request);
  if ((hello.flags & wire::kAsksOnly) != 0) return answer_peer(request, hello);
  const bool remembers = (hello.flags & wire::kRemembers) != 0;
  const auto renounced = wire::Leadership::of_word(hello.parameters[1]);
  if (!datapath_->leads()) {
    // An oeg that asks to join has renounced.
    if (remembers && pair.stage() != Pair::Stage::kTakingOver)
      pair.commands().peer_renounced(renounced);
    if (!remembers && pair.status().waits_for_word() && !std::exchange(newcomer_told_, true))
      log::warning(
          "the oeg at {} asks to join. It has lost its memory, and may have led before: this oeg "
          "waits for the witness, or for a person's word (`tickpath pair found`)",
          config_.pair.peer);
    datapath_->wake();
    return tell_who_leads(request);
  }
  pair.commands().peer_joins(renounced);
  const rdma::Grant grants[] = {runtime_.heartbeat().grant()};
  const wire::Hello answer = questions_.hello(wire::Service::kStandby);
  pair.connections().start_accept(request, link::bytes_of(answer), grants,
                                  remembers ? Pair::kStandby : Pair::kNewcomer,
                                  [this](std::uint32_t, const rdma::SetupError* error) {
                                    if (error == nullptr) datapath_->wake();
                                  });
}

// The snapshot is begun for the first request since this joiner is streamed to, and given to the
// first one once it is done.
void PairKeeper::accept_snapshot(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  if (keeps_out(request, hello)) return;
  Pair& pair = *datapath_->pair();
  pair.collect();
  if (pair.log().streams_from() == 0) return request.reject("nothing is streamed yet");
  const std::uint64_t joiner = pair.counters().standbys_joined.get();
  if (snapshot_ == nullptr || snapshot_of_ != joiner) {
    snapshot_readers_.drop(0);
    snapshot_of_ = joiner;
    snapshot_ = std::make_unique<PairSnapshot>(
        datapath_->journal(), config_.session_options().store_path, config_.exceptions_file);
  }
  snapshot_until_ns_ = clock::monotonic_ns() + kSnapshotNs;
  if (!snapshot_->done()) return request.reject("its snapshot is being made");
  const rdma::Grant grants[] = {snapshot_->grant()};
  const wire::Hello answer = questions_.hello(wire::Service::kSnapshot);
  snapshot_readers_.start_accept(request, link::bytes_of(answer), grants, 0,
                                 [](std::uint32_t, const rdma::SetupError*) {});
}

void PairKeeper::hand_over() {
  Pair& pair = *datapath_->pair();
  const PairStatus& status = pair.status();
  if (status.stage() != Pair::Stage::kLeading) throw Error("it does not lead");
  if (status.blocked()) throw Error("it waits for the pair's witness at " + questions_.witnesses());
  if (!status.has_standby() || status.word().alone) throw Error("nobody stands by for it");
  if (!pair.witness().is_there())
    throw Error("the pair's witness at " + questions_.witnesses() + " is not there");
  log::info("this oeg hands over: its standby is to lead");
  pair.commands().hand_over();
  datapath_->wake();
}

}  // namespace tickpath::oeg
