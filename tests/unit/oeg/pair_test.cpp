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

// One oeg, without all but its journal, its FIX store and its half of the pair.
class PairSide {
 public:
  PairSide(const Folder& folder, rdma::Device& device, std::uint8_t place, bool leads,
           std::int64_t dead_after_ns = kNever)
      : place_(place),
        options_([&] {
          PairOptions options;
          options.place = place;
          options.file = folder / ("oeg" + std::to_string(place) + ".pair");
          options.confirm_max_ns = kNever;
          return options;
        }()),
        journal_({.path = folder / ("oeg" + std::to_string(place) + ".journal"),
                  .records = 256,
                  .sizes = {64, 16, 16, 1024}}),
        session_([&] {
          fix::SessionOptions options;
          options.sender = "PAIR";
          options.target = "SIM";
          options.store_path = folder / ("oeg" + std::to_string(place) + ".fix");
          options.store_messages = 64;
          return options;
        }()),
        memory_(options_.file, place),
        heartbeat_(device, "oeg.heartbeat"),
        pair_(options_, watched(dead_after_ns), device, nullptr, journal_, session_, memory_,
              rules(place, leads), hot_log_) {}

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
    pair_.connections().collect();
    pair_.turn(now_ns());
  }
  // What the control thread does at a takeover.
  FenceResult recover() {
    const FenceResult fence = pair_.revoke_former();
    pair_.recovered();
    return fence;
  }

 private:
  static Succession rules(std::uint8_t place, bool leads) {
    Succession rules(place);
    if (leads) rules.found();
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

  void new_witness() {
    witness_.reset();
    witness_ =
        std::make_unique<risk::Witness>(*fabric_.device, link::test::fresh_endpoint(), "risk");
  }

  void begin(std::int64_t standby_dead_after_ns = kNever) {
    first_.emplace(folder_, *fabric_.device, std::uint8_t{1}, true);
    second_.emplace(folder_, *fabric_.device, std::uint8_t{2}, false, standby_dead_after_ns);
    connect_witness(*first_);
    connect_witness(*second_);
    join(*first_, *second_);
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

  void join(PairSide& leader, PairSide& joiner) {
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
    joiner.pair().follow(std::move(log));
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

  Folder folder_;
  link::test::Fabric fabric_;
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

}  // namespace
}  // namespace tickpath::oeg
