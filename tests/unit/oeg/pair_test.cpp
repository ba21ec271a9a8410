// Two oegs' pairs and their witness in one process, over the fabric, turned by one thread.
#include "oeg/pair.hpp"

#include <array>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "common/clock/clock.hpp"
#include "common/wire/hello.hpp"
#include "oeg/datapath.hpp"
#include "risk/witness.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/unit/link/fabric.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using link::test::now_ns;
using test_support::Folder;
using test_support::turn_until;

// Nobody is to be suspected because this machine was busy, but where a test is about that.
constexpr std::int64_t kNever = 120'000'000'000;

link::HeartbeatOptions watched(std::int64_t dead_after_ns) {
  link::HeartbeatOptions options;
  options.suspect_after_ns = dead_after_ns / 2;
  options.dead_after_ns = dead_after_ns;
  return options;
}

// What a gateway records of so many orders.
std::vector<JournalRecord> orders(std::uint32_t count) {
  GatewayFixture fixture;
  for (std::uint32_t i = 1; i <= count; ++i)
    fixture.request(fixture.limit_order(i, 1'000'000, 100));
  return fixture.journal.records;
}

constexpr std::uint32_t kSmallLog = 1u << 16;
constexpr std::int64_t kConfirmMax = 30'000'000;

struct SideOptions {
  std::int64_t dead_after_ns = kNever;
  std::int64_t confirm_max_ns = kNever;
  std::uint32_t log_bytes = PairOptions{}.log_bytes;
  std::uint64_t journal_records = 4096;
  int lives = 1;  // of who leads: each raises the epoch
};

// One oeg, without all but its journal, its FIX store and its half of the pair.
class PairSide {
 public:
  PairSide(const Folder& folder, rdma::Device& device, std::uint8_t place, bool leads,
           const SideOptions& side = {})
      : place_(place),
        options_([&] {
          PairOptions options;
          options.place = place;
          options.file = folder / ("oeg" + std::to_string(place) + ".pair");
          options.confirm_max_ns = side.confirm_max_ns;
          options.log_bytes = side.log_bytes;
          return options;
        }()),
        journal_({.path = folder / ("oeg" + std::to_string(place) + ".journal"),
                  .records = side.journal_records,
                  .kept_max = 256,
                  .sizes = {64, 16, 16, 1024}}),
        session_([&] {
          fix::SessionOptions options;
          options.sender = "PAIR";
          options.target = "SIM";
          options.store_path = folder / ("oeg" + std::to_string(place) + ".fix");
          options.store_messages = 64;
          return options;
        }()),
        memory_(options_.file, place, 1),
        heartbeat_(device, "oeg.heartbeat"),
        pair_(options_, watched(side.dead_after_ns), device, nullptr, journal_, session_, memory_,
              rules(place, leads ? side.lives : 0), hot_log_) {}

  Pair& pair() noexcept { return pair_; }
  Journal& journal() noexcept { return journal_; }
  link::Heartbeat& heartbeat() noexcept { return heartbeat_; }
  PairMemory& memory() noexcept { return memory_; }
  const PairOptions& options() const noexcept { return options_; }
  std::uint8_t place() const noexcept { return place_; }

  // Both threads of the program, one after the other.
  void turn() {
    heartbeat_.beat();
    if (pair_.connections().connecting()) (void)pair_.connections().poll_connect();
    pair_.collect();
    pair_.turn(now_ns());
  }
  // What the control thread does at a takeover.
  FenceResult recover() {
    const FenceResult fence = pair_.revoke_former();
    pair_.recovered();
    return fence;
  }

 private:
  static Succession rules(std::uint8_t place, int lives) {
    Succession rules(place);
    if (lives != 0) rules.found();
    for (int life = 1; life < lives; ++life) rules.begin_again();
    return rules;
  }

  const std::uint8_t place_;
  PairOptions options_;
  Journal journal_;
  fix::Session session_;
  PairMemory memory_;
  link::Heartbeat heartbeat_;
  log::HotLog hot_log_;
  Pair pair_;
};

class PairTest : public ::testing::Test {
 protected:
  using Stage = Pair::Stage;

  PairTest() { new_witness(); }

  // Another life; it has forgotten, or remembers.
  void new_witness(bool forgets = true) {
    witness_.reset();
    if (forgets) witness_file_ = folder_ / ("witness" + std::to_string(++witnesses_));
    witness_ = std::make_unique<risk::Witness>(*fabric_.device, link::test::fresh_endpoint(),
                                               "risk", witness_file_);
  }

  void begin(std::int64_t standby_dead_after_ns = kNever) {
    begin({}, {.dead_after_ns = standby_dead_after_ns});
  }
  // starts: the second one is turned. spools: its log is taken meanwhile.
  void begin(const SideOptions& first, const SideOptions& second, bool starts = true,
             bool spools = false) {
    first_.emplace(folder_, *fabric_.device, std::uint8_t{1}, true, first);
    second_.emplace(folder_, *fabric_.device, std::uint8_t{2}, false, second);
    connect_witness(*first_);
    connect_witness(*second_);
    if (!starts) stopped_ = 2;
    join(*first_, *second_, spools);
  }

  // Turns whoever is there until `done`.
  template <class Done>
  [[nodiscard]] bool turned_until(Done&& done) {
    return turn_until(done, [&] {
      witness_->serve();
      witness_->collect();
      for (std::optional<PairSide>* side : {&first_, &second_})
        if (side->has_value() && stopped_ != (*side)->place()) (*side)->turn();
      std::this_thread::yield();
    });
  }

  void connect_witness(PairSide& side) {
    const wire::Hello hello =
        wire::make_hello(wire::Role::kOeg, wire::Service::kWitness, "oeg", side.place());
    side.pair().connections().start_connect(witness_->endpoint(), link::bytes_of(hello), {},
                                            Pair::kWitness, "risk");
    ASSERT_TRUE(turned_until([&] { return side.pair().has_witness(); }));
  }

  void join(PairSide& leader, PairSide& joiner, bool spools = false) {
    auto log = std::make_unique<link::ReplicatedLog>(*fabric_.device, joiner.options().log_bytes,
                                                     "oeg.log");
    const std::array grants{log->grant(), joiner.heartbeat().grant()};
    auto joining = std::async(std::launch::async, [&] {
      return link::connect_tables(*fabric_.device, fabric_.endpoint, {}, grants, 60'000, "oeg");
    });
    const rdma::Grant heartbeat = leader.heartbeat().grant();
    std::optional<bool> accepted;
    ASSERT_TRUE(turned_until([&] {
      if (const auto request = fabric_.listener->next())
        leader.pair().connections().start_accept(
            *request, {}, {&heartbeat, 1}, Pair::kStandby,
            [&](std::uint32_t, const rdma::SetupError* error) { accepted = error == nullptr; });
      return accepted.has_value();
    }));
    ASSERT_TRUE(*accepted);
    auto spool = spools ? std::make_unique<LogSpool>(*log) : nullptr;
    joiner.pair().follow(std::move(log), std::move(spool));
    joiner.pair().connections().adopt(joining.get().connection, Pair::kLeader);
  }

  [[nodiscard]] bool paired() {
    return turned_until([&] {
      return !first_->pair().word().alone && second_->pair().word() == first_->pair().word();
    });
  }

  // Records an order on the leader; returns whether it may leave once the standby was turned.
  [[nodiscard]] bool replicated(PairSide& leader, JournalRecord record) {
    EXPECT_TRUE(leader.pair().append(record));
    return turned_until([&] { return leader.pair().may_act(); });
  }

  // The standby has seen that the leader is gone, and asked the witness.
  [[nodiscard]] bool takes_over(PairSide& side) {
    return turned_until([&] { return side.pair().stage() == Stage::kTakingOver; });
  }

  // Records one of a few orders; false: there is no room for it.
  [[nodiscard]] bool recorded(PairSide& leader, std::size_t count) {
    JournalRecord record = orders_[count % orders_.size()];
    return leader.pair().has_room() && leader.pair().append(record);
  }

  Folder folder_;
  link::test::Fabric fabric_;
  int witnesses_ = 0;
  std::string witness_file_;
  std::unique_ptr<risk::Witness> witness_;
  std::optional<PairSide> first_;
  std::optional<PairSide> second_;
  int stopped_ = 0;  // the place of one that is not turned
  const std::vector<JournalRecord> orders_ = orders(8);
};

TEST_F(PairTest, WhatHasTakenEffectIsInTheJournalOfWhoTakesOver) {
  begin();
  ASSERT_TRUE(paired());
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(replicated(*first_, orders_[i]));
  const wire::Leadership before = first_->pair().word();
  first_.reset();  // it is gone, and its connections with it
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().word(), (wire::Leadership{before.epoch + 1, 2, true}));
  EXPECT_EQ(witness_->leadership(), second_->pair().word());
  EXPECT_EQ(second_->journal().size().get(), 4u);
  second_->recover();
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() == Stage::kLeading; }));
  JournalRecord next = orders_[4];
  EXPECT_TRUE(second_->pair().append(next));
  EXPECT_EQ(next.sequence, 5u);
  EXPECT_TRUE(second_->pair().may_act()) << "it leads alone, by the witness's word";
}

TEST_F(PairTest, AHungLeaderThatGoesOnActsOnNothing) {
  begin(1'000'000'000);
  ASSERT_TRUE(paired());
  ASSERT_TRUE(replicated(*first_, orders_[0]));
  stopped_ = 1;
  ASSERT_TRUE(takes_over(*second_));
  // It goes on, and believes that it leads.
  JournalRecord late = orders_[1];
  ASSERT_EQ(first_->pair().stage(), Stage::kLeading);
  ASSERT_TRUE(first_->pair().append(late));
  EXPECT_FALSE(first_->pair().may_act());
  second_->recover();
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() == Stage::kLeading; }));
  EXPECT_FALSE(first_->pair().may_act());
  stopped_ = 0;
  ASSERT_TRUE(turned_until([&] { return first_->pair().stage() == Stage::kRetired; }));
  EXPECT_FALSE(first_->pair().may_act());
  EXPECT_EQ(second_->journal().size().get(), 1u) << "nothing of it was taken after the fence";
}

TEST_F(PairTest, TheFormerLeadersRightToTheLogIsTakenBack) {
  begin(1'000'000'000);
  ASSERT_TRUE(paired());
  stopped_ = 1;
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().fence_result(), FenceResult::kNone) << "not yet";
  const FenceResult fence = second_->recover();
  EXPECT_EQ(fence, fabric_.device->info().revokes ? FenceResult::kRevoked : FenceResult::kLogAlone);
  EXPECT_EQ(second_->pair().fence_result(), fence);
}

TEST_F(PairTest, ByHandTheStandbyLeadsWithoutASuspicion) {
  begin();
  ASSERT_TRUE(paired());
  ASSERT_TRUE(replicated(*first_, orders_[0]));
  first_->pair().hand_over();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().times().suspected_ns.get(), 0u);
  second_->recover();
  ASSERT_TRUE(turned_until([&] {
    return second_->pair().stage() == Stage::kLeading && first_->pair().stage() == Stage::kRetired;
  }));
  EXPECT_EQ(second_->journal().size().get(), 1u);
  JournalRecord late = orders_[1];
  (void)first_->pair().append(late);
  EXPECT_FALSE(first_->pair().may_act());
}

TEST_F(PairTest, WithoutStandbyAndWitnessALeaderActsOnNothing) {
  begin();
  ASSERT_TRUE(paired());
  new_witness();  // nobody is connected to this one
  ASSERT_TRUE(turned_until([&] { return !first_->pair().has_witness(); }));
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().blocked(); }));
  JournalRecord record = orders_[0];
  ASSERT_TRUE(first_->pair().append(record));
  EXPECT_FALSE(first_->pair().may_act());
  EXPECT_FALSE(first_->pair().may_trade());
}

// Else two that wait for a life of the witness that is gone would wait for ever.
TEST_F(PairTest, ALeaderThatWaitsForTheWordOfAnotherLifeOfTheWitnessAsksItsPeer) {
  begin();
  ASSERT_TRUE(paired());
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !first_->pair().has_witness(); }));
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().blocked(); }));
  EXPECT_TRUE(first_->pair().waits_for_word());
  connect_witness(*first_);
  EXPECT_TRUE(first_->pair().blocked()) << "this life does not decide";
  EXPECT_TRUE(first_->pair().waits_for_word());
}

TEST_F(PairTest, WithoutAStandbyTheLeaderGoesOnByTheWitnessesWord) {
  begin();
  ASSERT_TRUE(paired());
  const std::uint32_t epoch = first_->pair().word().epoch;
  JournalRecord record = orders_[0];
  stopped_ = 2;  // so that it confirms, but does not follow
  ASSERT_TRUE(first_->pair().append(record));
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  EXPECT_EQ(first_->pair().word().epoch, epoch + 1);
  EXPECT_EQ(witness_->leadership(), first_->pair().word());
  EXPECT_TRUE(first_->pair().may_act());
  EXPECT_TRUE(first_->pair().may_trade());
}

TEST_F(PairTest, AnotherLifeOfTheWitnessDecidesOnceTheStandbyKnowsIt) {
  begin();
  ASSERT_TRUE(paired());
  const wire::Leadership word = first_->pair().word();
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !first_->pair().has_witness(); }));
  connect_witness(*first_);
  // The leader writes its word into the new memory, and tells its standby.
  ASSERT_TRUE(turned_until([&] {
    const std::optional<Succession> known = second_->memory().load();
    return known && known->witness() == witness_->incarnation();
  }));
  EXPECT_EQ(witness_->leadership(), word);
  EXPECT_EQ(first_->pair().word(), word);
  ASSERT_TRUE(replicated(*first_, orders_[0]));
  connect_witness(*second_);
  first_.reset();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(witness_->leadership(), second_->pair().word());
}

TEST_F(PairTest, AWitnessThatNobodyWasToldOfDecidesNothing) {
  begin();
  ASSERT_TRUE(paired());
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !second_->pair().has_witness(); }));
  connect_witness(*second_);  // before the leader has seen it
  first_.reset();
  for (int i = 0; i < 200; ++i) {
    witness_->collect();
    second_->turn();
  }
  EXPECT_EQ(second_->pair().stage(), Stage::kFollowing);
  EXPECT_EQ(witness_->leadership().epoch, 0u);
}

TEST_F(PairTest, AWitnessThatRemembersDecidesNothingEitherBeforeTheStandbyIsTold) {
  begin();
  ASSERT_TRUE(paired());
  const wire::Leadership word = first_->pair().word();
  new_witness(false);
  EXPECT_EQ(witness_->leadership(), word);
  ASSERT_TRUE(turned_until([&] { return !second_->pair().has_witness(); }));
  connect_witness(*second_);
  connect_witness(*first_);
  ASSERT_TRUE(turned_until([&] {
    const std::optional<Succession> known = second_->memory().load();
    return known && known->witness() == witness_->incarnation();
  }));
  first_.reset();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(witness_->leadership(), (wire::Leadership{word.epoch + 1, 2, true}));
}

// A second host with the first one's place, say: who asks to join has renounced, and the leader
// that has gone on alone has not.
TEST_F(PairTest, WhoIsAskedForTheLeadAsksTheWitnessAllTheSameWhereItAnswers) {
  begin({.confirm_max_ns = kConfirmMax, .log_bytes = kSmallLog}, {.log_bytes = kSmallLog});
  ASSERT_TRUE(paired());
  stopped_ = 2;
  for (std::size_t count = 0; recorded(*first_, count);) ++count;
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  stopped_ = 1;
  second_->pair().peer_renounced();
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() != Stage::kFollowing; }));
  EXPECT_EQ(second_->pair().stage(), Stage::kRetired);
  EXPECT_EQ(witness_->leadership(), first_->pair().word());
}

TEST_F(PairTest, WhereNoWitnessAnswersWhoIsAskedForTheLeadLeads) {
  begin();
  ASSERT_TRUE(paired());
  const std::uint32_t epoch = second_->pair().word().epoch;
  new_witness();  // nobody is connected to this one
  ASSERT_TRUE(turned_until([&] { return !second_->pair().has_witness(); }));
  first_.reset();
  second_->pair().peer_renounced();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().word(), (wire::Leadership{epoch + 1, 2, true}));
}

// A copy of its file that was put back: it believes to lead alone, as the other one does.
TEST_F(PairTest, OfTwoThatLeadAloneTheOneWhoseWordIsOlderStepsDown) {
  first_.emplace(folder_, *fabric_.device, std::uint8_t{1}, true);
  connect_witness(*first_);
  ASSERT_TRUE(turned_until([&] { return witness_->leadership() == first_->pair().word(); }));
  SideOptions later;
  later.lives = 5;
  second_.emplace(folder_, *fabric_.device, std::uint8_t{2}, true, later);
  connect_witness(*second_);
  ASSERT_TRUE(turned_until([&] { return first_->pair().stage() == Stage::kRetired; }))
      << "it looks at the word again and again";
  EXPECT_EQ(second_->pair().stage(), Stage::kLeading);
  EXPECT_TRUE(second_->pair().may_act());
  EXPECT_EQ(witness_->leadership(), second_->pair().word());
  // The first one starts again with its old memory.
  first_.reset();
  std::filesystem::remove(folder_ / "oeg1.pair");
  first_.emplace(folder_, *fabric_.device, std::uint8_t{1}, true);
  connect_witness(*first_);
  ASSERT_TRUE(turned_until([&] { return first_->pair().stage() == Stage::kRetired; }));
  EXPECT_EQ(second_->pair().stage(), Stage::kLeading);
}

TEST_F(PairTest, WhoComesAgainIsAStandbyAsBefore) {
  begin();
  ASSERT_TRUE(paired());
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(replicated(*first_, orders_[i]));
  std::filesystem::remove(folder_ / "oeg2.pair");
  second_.emplace(folder_, *fabric_.device, std::uint8_t{2}, false);
  // In place of the snapshot that the control thread READs.
  for (std::size_t i = 0; i < 3; ++i) {
    JournalRecord record = orders_[i];
    ASSERT_TRUE(second_->journal().append(record));
  }
  connect_witness(*second_);
  join(*first_, *second_);
  ASSERT_TRUE(paired());
  ASSERT_TRUE(replicated(*first_, orders_[3]));
  ASSERT_TRUE(turned_until([&] { return second_->journal().size().get() == 4; }));
  EXPECT_EQ(second_->pair().counters().damaged.get(), 0u);
}

TEST_F(PairTest, TheStandbyIsToldWhichExceptionsAPersonHasCleared) {
  begin();
  ASSERT_TRUE(paired());
  const Exception exception{.id = 3, .realtime_ns = 5, .journal_sequence = 12, .symbol = "AAPL"};
  first_->pair().tell_cleared(cleared(exception, "anna"));
  ClearedException told;
  ASSERT_TRUE(turned_until([&] { return second_->pair().pop_cleared(told); }));
  EXPECT_EQ(told.journal_sequence, 12u);
  EXPECT_EQ(told.realtime_ns, 5);
  EXPECT_EQ(told.who(), "anna");
  EXPECT_FALSE(second_->pair().pop_cleared(told));
}

TEST_F(PairTest, WhoHasJoinedGoesOnWithTheLeadersBookWhateverJournalStartSays) {
  OegConfig config;
  config.journal.start = JournalStart::kFresh;
  PairOptions options;
  options.place = 2;
  options.file = folder_ / "oeg2.pair";
  PairStart start(options);
  EXPECT_EQ(start.journal_options(config).start, JournalStart::kFresh);
  start.log = std::make_unique<link::ReplicatedLog>(*fabric_.device, kSmallLog, "oeg.log");
  EXPECT_EQ(start.journal_options(config).start, JournalStart::kResume);
}

// ------------------------------------------------------------- a log that is not taken

TEST_F(PairTest, AStandbyThatTakesNothingIsGivenUpAfterConfirmMaxOfAFullLog) {
  begin({.confirm_max_ns = kConfirmMax, .log_bytes = kSmallLog}, {.log_bytes = kSmallLog});
  ASSERT_TRUE(paired());
  stopped_ = 2;  // its heart is believed to beat
  std::size_t count = 0;
  while (recorded(*first_, count)) ++count;
  EXPECT_TRUE(first_->pair().may_act()) << "the transport confirms";
  EXPECT_TRUE(first_->pair().has_room_for_own_cancels()) << "a kill's cancels leave";
  EXPECT_FALSE(first_->pair().has_room());
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  EXPECT_EQ(first_->pair().counters().standbys_lost.get(), 1u);
  EXPECT_TRUE(recorded(*first_, count));
  EXPECT_TRUE(first_->pair().may_act());
}

TEST_F(PairTest, OfAFullLogCancelsAndReportsHaveAPartOfTheirOwn) {
  begin({.log_bytes = 1u << 20}, {.log_bytes = 1u << 20});
  ASSERT_TRUE(paired());
  stopped_ = 2;
  const Pair& pair = first_->pair();
  std::array<std::size_t, 4> taken{};
  std::size_t count = 0;
  for (; pair.has_room_for_own_cancels() && count < 40'000; ++count) {
    JournalRecord record = orders_[count % orders_.size()];
    taken[0] += pair.has_room() ? 1 : 0;
    taken[1] += pair.has_room_for_changes() ? 1 : 0;
    taken[2] += pair.has_room_for_reports() ? 1 : 0;
    ++taken[3];
    if (count % 2048 == 0) first_->journal().maintain(0);
    ASSERT_TRUE(first_->pair().append(record));
    ASSERT_TRUE(first_->pair().may_act());
  }
  EXPECT_LT(taken[0], taken[1]);
  EXPECT_LT(taken[1], taken[2]);
  EXPECT_LT(taken[2], taken[3]);
}

TEST_F(PairTest, NothingWaitsForAJoinerWhoseLogIsFullItIsDropped) {
  begin({.log_bytes = kSmallLog}, {.log_bytes = kSmallLog}, false);
  ASSERT_TRUE(turned_until([&] { return first_->pair().streams_from() != 0; }));
  for (std::size_t count = 0; count < 1000; ++count) {
    ASSERT_TRUE(recorded(*first_, count)) << count;
    ASSERT_TRUE(first_->pair().may_act()) << count;
  }
  EXPECT_EQ(first_->pair().counters().log_full.get(), 1u);
  ASSERT_TRUE(turned_until([&] { return first_->pair().counters().standbys_lost.get() == 1; }));
  EXPECT_EQ(first_->pair().streams_from(), 0u);
  stopped_ = 0;  // it finds its connection ended, and is to join again
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() == Stage::kRetired; }));
}

TEST_F(PairTest, WhatIsRecordedWhileAJoinerStartsIsTakenIntoItsMemory) {
  begin({.log_bytes = kSmallLog}, {.log_bytes = kSmallLog}, false, true);
  ASSERT_TRUE(turned_until([&] { return first_->pair().streams_from() != 0; }));
  std::size_t count = 0;
  for (; count < 1000; ++count) {
    ASSERT_TRUE(recorded(*first_, count));
    bool turned = false;
    ASSERT_TRUE(turned_until([&] {
      return std::exchange(turned, true) && first_->pair().lag_bytes().get() < kSmallLog / 4;
    }));
  }
  EXPECT_EQ(first_->pair().counters().standbys_lost.get(), 0u);
  EXPECT_EQ(second_->journal().size().get(), 0u) << "its datapath has not begun";
  stopped_ = 0;
  ASSERT_TRUE(turned_until([&] { return second_->journal().size().get() == count; }));
  ASSERT_TRUE(paired());
  EXPECT_EQ(second_->pair().counters().damaged.get(), 0u);
}

// Its datapath begins with more than it takes in a turn, and the leader records meanwhile what the
// log has no room for.
TEST_F(PairTest, WhatIsRecordedWhileAJoinerCatchesUpIsTakenIntoItsMemoryToo) {
  const SideOptions side{.log_bytes = kSmallLog, .journal_records = 1u << 14};
  begin(side, side, false, true);
  ASSERT_TRUE(turned_until([&] { return first_->pair().streams_from() != 0; }));
  std::size_t count = 0;
  const auto record = [&](std::size_t end) {  // in steps for which a standby's log has room
    while (count < end) {
      for (int i = 0; i < 25; ++i, ++count)
        if (!recorded(*first_, count)) return false;
      bool turned = false;
      if (!turned_until([&] {
            return std::exchange(turned, true) && first_->pair().lag_bytes().get() < kSmallLog / 16;
          }))
        return false;
    }
    return true;
  };
  ASSERT_TRUE(record(3000));
  for (int turn = 0; turn < 10; ++turn) {
    second_->turn();
    ASSERT_TRUE(record(count + 100)) << turn;
  }
  EXPECT_LT(second_->journal().size().get(), count) << "it has not caught up";
  stopped_ = 0;
  ASSERT_TRUE(turned_until([&] { return second_->journal().size().get() == count; }));
  ASSERT_TRUE(paired());
  EXPECT_EQ(first_->pair().counters().standbys_lost.get(), 0u);
  EXPECT_EQ(second_->pair().counters().damaged.get(), 0u);
}

// More than the standby's segment has room for, which has no next one.
constexpr std::uint64_t kSegment = 8192;
constexpr std::size_t kMore = kSegment + 100;

TEST_F(PairTest, AStandbyWithoutRoomInItsJournalGivesItselfUp) {
  begin({.journal_records = 2 * kSegment},
        {.confirm_max_ns = kConfirmMax, .journal_records = kSegment});
  ASSERT_TRUE(paired());
  for (std::size_t count = 0; count < kMore; ++count) ASSERT_TRUE(recorded(*first_, count));
  ASSERT_TRUE(turned_until(
      [&] { return second_->pair().stage() == Stage::kRetired && first_->pair().word().alone; }));
  EXPECT_EQ(first_->pair().stage(), Stage::kLeading);
  EXPECT_EQ(first_->pair().word().leader, 1);
  EXPECT_TRUE(first_->pair().may_act());
}

TEST_F(PairTest, AStandbyWithoutRoomInItsJournalLeadsWithAllThatWasConfirmedWhenItMust) {
  begin({.journal_records = 2 * kSegment}, {.journal_records = kSegment});
  ASSERT_TRUE(paired());
  for (std::size_t count = 0; count < kMore; ++count) ASSERT_TRUE(recorded(*first_, count));
  ASSERT_TRUE(turned_until(
      [&] { return first_->pair().may_act() && !second_->journal().has_room_for_reports(); }));
  first_.reset();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->journal().size().get(), kMore);
  second_->journal().catch_up_to_lead();
  EXPECT_EQ(second_->journal().state().sequence, kMore);
}

}  // namespace
}  // namespace tickpath::oeg
