// The replicated log: what is confirmed stands at the standby, whenever that one stops the writer.
#include "common/link/replicated_log.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/unit/link/fabric.hpp"
#include "tests/unit/link/fault_device.hpp"

namespace tickpath::link::test {
namespace {

constexpr std::size_t kRing = 4096;

// As the program would: a number, and bytes that follow from it.
struct Item {
  explicit Item(std::uint64_t number) : bytes(8 + number * 7 % 300) {
    std::memcpy(bytes.data(), &number, sizeof(number));
    for (std::size_t i = sizeof(number); i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(number + i);
  }
  std::vector<std::byte> bytes;
};

class ReplicatedLogs : public testing::Test {
 protected:
  void start() { start(fabric, log, writer); }
  // As a program: the standby connects, and grants its log.
  void start(Fabric& on, ReplicatedLog& standby_log, LogReplicator& replicator) {
    const rdma::Grant grant = standby_log.grant();
    on.meet(
        [&] {
          standby = std::move(connect_tables(*on.device, on.endpoint, {}, {&grant, 1}).connection);
        },
        [&](rdma::ConnectionRequest& request) {
          leader = accept_tables(*on.device, request, {}, {});
        });
    ASSERT_NE(standby, nullptr);
    ASSERT_TRUE(replicator.attach(*leader, leader->extras()[0]));
  }
  bool append(std::uint64_t number) {
    const Item item(number);
    return writer.append(7, std::span(item.bytes).first(5), std::span(item.bytes).subspan(5));
  }
  // Takes what is there; checks that the numbers rise by one and the bytes are theirs.
  void take(std::size_t entries_max = 1000) {
    log.poll(
        [&](std::uint32_t kind, std::span<const std::byte> bytes) { expect_next(kind, bytes); },
        entries_max);
  }
  void expect_next(std::uint32_t kind, std::span<const std::byte> bytes) {
    const Item expected(++seen);
    wrong += kind != 7 ||
             !std::equal(bytes.begin(), bytes.end(), expected.bytes.begin(), expected.bytes.end());
  }
  bool settles(LogReplicator::State state = LogReplicator::State::kReplicating) {
    return eventually([&] {
      writer.flush();
      leader->poll();
      return writer.state() == state &&
             (state != LogReplicator::State::kReplicating || writer.all_confirmed());
    });
  }
  void overwrite(std::size_t offset, std::uint64_t value) {
    std::memcpy(log.grant().region->data() + offset, &value, sizeof(value));
  }

  Fabric fabric;
  ReplicatedLog log{*fabric.device, kRing, "log"};
  LogReplicator writer{*fabric.device, kRing, "writer"};
  std::unique_ptr<Connection> leader;  // the writer's
  std::unique_ptr<Connection> standby;
  std::uint64_t seen = 0;
  std::uint64_t wrong = 0;
};

TEST_F(ReplicatedLogs, BringEveryEntryOnceAndInOrderRoundTheRing) {
  start();
  for (std::uint64_t number = 1; number <= 2000;) {
    if (append(number)) {
      ++number;
    } else {
      EXPECT_FALSE(writer.has_room(308 + sizeof(LogEntryHeader)));
      ASSERT_TRUE(settles());
      take();
      ASSERT_TRUE(writer.probe());
      ASSERT_TRUE(eventually([&] {
        leader->poll();
        return writer.has_room(308 + sizeof(LogEntryHeader));
      }));
    }
  }
  ASSERT_TRUE(settles());
  take();
  EXPECT_EQ(seen, 2000u);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(log.behind(), 0u);
}

TEST_F(ReplicatedLogs, BringTheNumberThatTheStandbyHasAcknowledged) {
  start();
  ASSERT_TRUE(append(1));
  ASSERT_TRUE(settles());
  EXPECT_EQ(writer.acknowledged(), 0u);
  log.acknowledge(5);
  ASSERT_TRUE(writer.probe());
  EXPECT_TRUE(eventually([&] {
    leader->poll();
    return writer.acknowledged() == 5;
  }));
  log.clear();
  ASSERT_TRUE(writer.attach(*leader, leader->extras()[0]));
  EXPECT_EQ(writer.acknowledged(), 0u);
}

TEST_F(ReplicatedLogs, ConfirmNothingThatWasNotPosted) {
  start();
  EXPECT_TRUE(writer.all_confirmed());
  ASSERT_TRUE(append(1));
  leader->poll();
  EXPECT_FALSE(writer.all_confirmed());
  take();
  EXPECT_EQ(seen, 0u);
  ASSERT_TRUE(settles());
  take();
  EXPECT_EQ(seen, 1u);
}

TEST_F(ReplicatedLogs, ConfirmNothingBehindTheFence) {
  start();
  ASSERT_TRUE(append(1));
  ASSERT_TRUE(settles());
  log.fence();
  take();
  EXPECT_TRUE(log.at_fence());
  ASSERT_TRUE(append(2));
  ASSERT_TRUE(settles(LogReplicator::State::kFenced));
  EXPECT_FALSE(writer.all_confirmed());
  EXPECT_FALSE(append(3));
  take();
  EXPECT_EQ(seen, 1u) << "what came behind the fence is not looked at";
}

TEST_F(ReplicatedLogs, WriterLearnsOfTheFenceWithoutAnEntry) {
  start();
  log.fence();
  ASSERT_TRUE(writer.probe());
  ASSERT_TRUE(settles(LogReplicator::State::kFenced));
}

TEST_F(ReplicatedLogs, AFullRingRefusesAndTheStandbysPaceFreesIt) {
  start();
  std::uint64_t number = 0;
  while (append(number + 1)) ++number;
  ASSERT_TRUE(settles());
  ASSERT_FALSE(append(number + 1));
  take(3);
  ASSERT_TRUE(writer.probe());
  ASSERT_TRUE(eventually([&] {
    leader->poll();
    return writer.taken() != 0;
  }));
  EXPECT_TRUE(append(number + 1));
}

TEST_F(ReplicatedLogs, RefusedPostsAreMadeGood) {
  FaultPlan plan(3);
  plan.refuse_per_mille = 400;
  Fabric faulty(std::make_unique<FaultDevice>(open_test_device(), plan));
  ReplicatedLog faulty_log(*faulty.device, kRing, "log");
  LogReplicator replicator(*faulty.device, kRing, "writer");
  start(faulty, faulty_log, replicator);
  const auto turn = [&] {
    replicator.flush();
    replicator.probe();
    leader->poll();
    faulty_log.poll(
        [&](std::uint32_t kind, std::span<const std::byte> bytes) { expect_next(kind, bytes); });
  };
  for (std::uint64_t number = 1; number <= 500; ++number) {
    const Item item(number);
    ASSERT_TRUE(eventually([&] {
      turn();
      return replicator.append(7, item.bytes);
    }));
  }
  ASSERT_TRUE(eventually([&] {
    turn();
    return replicator.all_confirmed() && seen == 500;
  }));
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(plan.refused, 0u);
  leader.reset();
  standby.reset();
}

TEST_F(ReplicatedLogs, AFailedConnectionConfirmsNothing) {
  start();
  ASSERT_TRUE(append(1));
  standby.reset();
  ASSERT_TRUE(eventually([&] {
    writer.flush();
    writer.probe();
    leader->poll();
    return writer.state() == LogReplicator::State::kFailed;
  }));
  EXPECT_FALSE(append(2));
}

TEST_F(ReplicatedLogs, WhatIsNoLogIsNotTaken) {
  for (const auto& [offset, value] :
       {std::pair<std::size_t, std::uint64_t>{0, 17},  // a tail between entries
        {0, 1 << 20},                                  // beyond the ring
        {sizeof(LogHeader), 0xffff'ffff},              // a length beyond the tail
        {sizeof(LogHeader) + 8, 5}}) {                 // a sequence that does not follow
    ReplicatedLog damaged(*fabric.device, kRing, "damaged");
    std::byte* const memory = damaged.grant().region->data();
    const LogEntryHeader entry{16, 7, 1};
    std::memcpy(memory + sizeof(LogHeader), &entry, sizeof(entry));
    const std::uint64_t tail = log_entry_bytes(16);
    std::memcpy(memory, &tail, sizeof(tail));
    std::memcpy(memory + offset, &value, sizeof(value));
    std::size_t taken = 0;
    damaged.poll([&](std::uint32_t, std::span<const std::byte>) { ++taken; });
    EXPECT_EQ(taken, 0u) << "offset " << offset;
    EXPECT_EQ(damaged.status(), LogStatus::kDamaged) << "offset " << offset;
  }
}

TEST_F(ReplicatedLogs, AStandbyThatClaimsToHaveTakenTooMuchIsNoStandby) {
  start();
  ASSERT_TRUE(append(1));
  overwrite(offsetof(LogHeader, standby) + offsetof(LogStandbyLine, taken), 1 << 20);
  ASSERT_TRUE(settles(LogReplicator::State::kFailed));
}

TEST_F(ReplicatedLogs, ARegionThatIsTooSmallIsRefused) {
  start();
  LogReplicator larger(*fabric.device, 2 * kRing, "larger");
  EXPECT_FALSE(larger.attach(*leader, leader->extras()[0]));
  EXPECT_EQ(larger.state(), LogReplicator::State::kDetached);
}

// A writer that goes on as fast as it can, and a standby that stops it at some moment: whatever was
// confirmed has been taken when the standby is at its fence. Round after round, on two threads.
TEST_F(ReplicatedLogs, WhatWasConfirmedIsThereBehindTheFence) {
  start();
  const int rounds = over_network() ? 20 : 300;
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    log.clear();
    seen = 0;
    ASSERT_TRUE(writer.attach(*leader, leader->extras()[0]));
    std::atomic<std::uint64_t> begun{0};
    std::atomic<bool> ended{false};
    std::uint64_t confirmed = 0;
    std::thread writing([&] {
      std::uint64_t number = 0;
      while (writer.state() == LogReplicator::State::kReplicating) {
        if (!append(number + 1)) {
          writer.probe();
          leader->poll();
          continue;
        }
        begun.store(++number);
        while (!writer.all_confirmed() && writer.state() == LogReplicator::State::kReplicating) {
          writer.flush();
          leader->poll();
        }
        if (writer.all_confirmed()) confirmed = number;
      }
      ended.store(true);
    });
    const std::uint64_t stop_at = random() % 100;
    // A writer whose connection fails goes no further, nor one of a damaged log: this ends, and
    // says so.
    while (begun.load() < stop_at && !ended.load() && log.status() == LogStatus::kOk) take();
    log.fence();
    while (!log.at_fence()) take();
    const std::uint64_t taken = seen;
    writing.join();
    ASSERT_EQ(log.status(), LogStatus::kOk) << "round " << round;
    ASSERT_EQ(writer.state(), LogReplicator::State::kFenced) << "round " << round;
    EXPECT_LE(confirmed, taken) << "round " << round;
    take();
    EXPECT_EQ(seen, taken);
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace tickpath::link::test
