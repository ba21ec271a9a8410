// Two oegs' pairs and their witness in one process, over the fabric, turned by one thread.
#pragma once

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
#include "oeg/pair.hpp"
#include "risk/witness.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/unit/link/fabric.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg::paired {

using link::test::now_ns;
using test_support::Folder;
using test_support::turn_until;

// Nobody is to be suspected because this machine was busy, but where a test is about that.
inline constexpr std::int64_t kNever = 120'000'000'000;

inline link::HeartbeatOptions watched(std::int64_t dead_after_ns) {
  link::HeartbeatOptions options;
  options.suspect_after_ns = dead_after_ns / 2;
  options.dead_after_ns = dead_after_ns;
  return options;
}

// What a gateway records of so many orders.
inline std::vector<JournalRecord> orders(std::uint32_t count) {
  GatewayFixture fixture;
  for (std::uint32_t i = 1; i <= count; ++i)
    fixture.request(fixture.limit_order(i, 1'000'000, 100));
  return fixture.journal.records;
}

inline constexpr std::uint32_t kSmallLog = 1u << 16;
inline constexpr std::int64_t kConfirmMax = 30'000'000;

struct SideOptions {
  std::int64_t dead_after_ns = kNever;
  std::int64_t confirm_max_ns = kNever;
  std::uint32_t log_bytes = PairOptions{}.log_bytes;
  std::uint64_t journal_records = 4096;
  std::uint64_t log_records = 256;
  int lives = 1;                      // of who leads: each raises the epoch
  std::optional<Succession> rules{};  // instead: what its memory says
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
                  .log_records = side.log_records,
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
              side.rules.value_or(rules(place, leads ? side.lives : 0)), hot_log_) {}

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
    if (!pair_.waits_for_memory() || !syncs_) return;
    memory_.sync();
    pair_.turn(now_ns());
  }
  void stop_syncing() noexcept { syncs_ = false; }
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
  bool syncs_ = true;
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
    ASSERT_TRUE(turned_until([&] { return side.pair().witness().is_there(); }));
  }

  void join(PairSide& leader, PairSide& joiner, bool spools = false,
            std::uint64_t tag = Pair::kStandby) {
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
            *request, {}, {&heartbeat, 1}, tag,
            [&](std::uint32_t, const rdma::SetupError* error) { accepted = error == nullptr; });
      return accepted.has_value();
    }));
    ASSERT_TRUE(*accepted);
    auto spool = spools ? std::make_unique<LogSpool>(*log) : nullptr;
    joiner.pair().follow(std::move(log), std::move(spool));
    joiner.pair().connections().adopt(joining.get().connection, Pair::kLeader);
  }

  [[nodiscard]] bool pair_stands() {
    return turned_until([&] {
      return !first_->pair().word().alone && second_->pair().word() == first_->pair().word();
    });
  }

  // Records an order on the leader; returns whether it may leave once the standby was turned.
  [[nodiscard]] bool replicated(PairSide& leader, JournalRecord record) {
    EXPECT_TRUE(leader.pair().log().append(record));
    return turned_until([&] { return leader.pair().log().may_act(); });
  }

  // The standby has seen that the leader is gone, and asked the witness.
  [[nodiscard]] bool takes_over(PairSide& side) {
    return turned_until([&] { return side.pair().stage() == Stage::kTakingOver; });
  }

  // Records one of a few orders; false: there is no room for it.
  [[nodiscard]] bool recorded(PairSide& leader, std::size_t count) {
    JournalRecord record = orders_[count % orders_.size()];
    return leader.pair().log().has_room() && leader.pair().log().append(record);
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

}  // namespace tickpath::oeg::paired
