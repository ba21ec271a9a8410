// Control blocks, remote tables and heartbeats: what rides on a connection as a sink.
#include <algorithm>
#include <atomic>
#include <thread>

#include "common/link/control_block.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/reconnect.hpp"
#include "common/link/remote_table.hpp"
#include "common/link/table_follower.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::link::test {
namespace {

struct Limits {
  std::uint64_t generation;
  std::uint64_t words[10];
};
Limits limits_of(std::uint64_t generation) {
  Limits limits{generation, {}};
  for (std::uint64_t& word : limits.words) word = generation;
  return limits;
}
bool whole(const Limits& limits) {
  for (const std::uint64_t word : limits.words)
    if (word != limits.generation) return false;
  return true;
}

// A connection without a pattern, with one grant.
class OneSided : public testing::Test {
 protected:
  void join(rdma::Grant grant) {
    fabric.meet(
        [&] { there = std::move(connect_tables(*fabric.device, fabric.endpoint, {}).connection); },
        [&](rdma::ConnectionRequest& request) {
          here = accept_tables(*fabric.device, request, {}, {&grant, 1});
        });
    ASSERT_NE(there, nullptr);
    ASSERT_EQ(there->extras().size(), 1u);
  }
  // Polls until `done`.
  template <class Done>
  bool polls_until(Done&& done) {
    return eventually([&] {
      there->poll();
      return done();
    });
  }
  Fabric fabric;
  std::unique_ptr<Connection> here;   // the owner's
  std::unique_ptr<Connection> there;  // the peer's
};

class ControlBlocks : public OneSided {
 protected:
  void start() { start(block.grant()); }
  void start(rdma::Grant grant) {
    join(grant);
    writer.attach(*there, there->extras()[0]);
    ASSERT_TRUE(polls_until([&] { return writer.ready(); }));
  }
  ControlBlock<Limits> block{*fabric.device, "limits"};
  ControlBlockWriter<Limits> writer{*fabric.device, "writer"};
};

class RemoteTables : public OneSided {
 protected:
  template <class Row>
  void start(TableOwner<Row>& table, auto& reader) {
    join(table.grant());
    reader.attach(*there, there->extras()[0]);
  }
  RemoteTable<Limits> remote{*fabric.device, "reader"};
};

class Heartbeats : public OneSided {
 protected:
  void watch(HeartbeatMonitor& monitor, std::uint64_t now) {
    join(heartbeat.grant());
    monitor.attach(*there, there->extras()[0], now);
  }
  // With a beat before each look, which says what it sees.
  template <class Look>
  bool becomes_alive(Look&& look) {
    return eventually([&] {
      heartbeat.beat();
      there->poll();
      return look() == Liveness::kAlive;
    });
  }
  Heartbeat heartbeat{*fabric.device, "beat"};
};

// The peer WRITEs a word and READs another, which the owner stores before it looks at the first. RC
// executes the READ behind the WRITE, so at least one of the two sees what the other did.
TEST_F(OneSided, AReadIsExecutedBehindTheWriteBeforeIt) {
  constexpr rdma::AccessFlags kRights = rdma::kRemoteWrite | rdma::kRemoteRead;
  const auto shared = fabric.device->allocate(128, rdma::kLocalWrite | kRights, "shared");
  const auto local = fabric.device->allocate(64, rdma::kLocalWrite, "local");
  join({shared.get(), kRights});
  auto& written = *reinterpret_cast<std::uint64_t*>(shared->data());
  auto& stored = *reinterpret_cast<std::uint64_t*>(shared->data() + 64);
  const auto& fetched = *reinterpret_cast<const std::uint64_t*>(local->data());
  const rdma::RemoteRegion remote = there->extras()[0];
  // Two threads take turns: beside other work each round costs a time slice.
  const std::uint64_t rounds = over_network() ? 200 : test_support::kSanitized ? 10'000 : 100'000;
  std::atomic<std::uint64_t> round{0};
  std::atomic<std::uint64_t> looked{0};
  std::uint64_t owner_saw = 0;
  std::thread owner([&] {
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      while (round.load() != i) std::this_thread::yield();
      for (std::uint64_t pause = i % 16; pause > 0; --pause) cpu_relax();
      std::atomic_ref<std::uint64_t>(stored).exchange(i);
      owner_saw = load_word(written, std::memory_order_acquire);
      looked.store(i);
    }
  });
  std::uint64_t missed = 0;
  bool completed = true;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    round.store(i);
    rdma::WorkRequest write{.flags = rdma::kInline,
                            .local_address = &i,
                            .length_bytes = sizeof(i),
                            .rkey = remote.rkey,
                            .remote_address = remote.address};
    rdma::WorkRequest read{.opcode = rdma::Opcode::kRead,
                           .flags = rdma::kSignaled,
                           .local_address = local->data(),
                           .length_bytes = sizeof(i),
                           .lkey = local->lkey(),
                           .rkey = remote.rkey,
                           .remote_address = remote.address + 64};
    std::size_t posted = 0;
    const rdma::WorkRequest both[] = {write, read};
    completed &= there->queue_pair().post_send(both, &posted) == rdma::PostStatus::kOk;
    bool answered = false;
    completed = completed && eventually([&] {
                  there->poll([&](const rdma::Completion&) { answered = true; });
                  return answered;
                });
    while (looked.load() != i) std::this_thread::yield();
    missed += fetched != i && owner_saw != i;
  }
  owner.join();
  EXPECT_TRUE(completed);
  EXPECT_EQ(missed, 0u) << "of " << rounds;
}

TEST_F(ControlBlocks, ShowTheOwnerWhatThePeerWrote) {
  EXPECT_EQ(writer.write(limits_of(1)), rdma::PostStatus::kNotReady);
  start();
  Limits seen{};
  EXPECT_EQ(block.read(seen), ReadStatus::kEmpty);
  for (std::uint64_t generation = 1; generation <= 100; ++generation) {
    ASSERT_EQ(writer.write(limits_of(generation)), rdma::PostStatus::kOk);
    ASSERT_TRUE(eventually([&] { return block.read(seen) == ReadStatus::kOk; }));
    EXPECT_EQ(seen.generation, generation);
    EXPECT_TRUE(whole(seen));
    EXPECT_EQ(block.read(seen), ReadStatus::kUnchanged);
    ASSERT_TRUE(polls_until([&] { return !writer.in_flight(); }));
  }
}

TEST_F(ControlBlocks, AskTheWriterToPollWhenTooManyWritesAreUnderWay) {
  start();
  std::uint64_t accepted = 0;
  while (writer.write(limits_of(accepted + 1)) == rdma::PostStatus::kOk) ++accepted;
  EXPECT_EQ(accepted, 4u);
  ASSERT_TRUE(polls_until([&] { return writer.write(limits_of(50)) == rdma::PostStatus::kOk; }));
  Limits seen{};
  ASSERT_TRUE(
      eventually([&] { return block.read(seen) == ReadStatus::kOk && seen.generation == 50; }));
}

TEST_F(ControlBlocks, ContinueWithANewWriterEvenIfTheOldOneDiedHalfWay) {
  block.initialise(limits_of(7));
  // A writer that died after its first small WRITE left an odd head.
  const rdma::Grant grant = block.grant();
  auto* const lines = reinterpret_cast<RecordLine*>(grant.region->data());
  lines[VersionedRecord<Limits>::kLines - 1].version = 3;
  Limits seen = limits_of(5);
  EXPECT_EQ(block.read(seen), ReadStatus::kTorn);
  EXPECT_EQ(seen.generation, 5u);
  start();
  Limits found{};
  ASSERT_TRUE(writer.found(found)) << "what its predecessor wrote";
  EXPECT_EQ(found.generation, 7u);
  ASSERT_EQ(writer.write(limits_of(8)), rdma::PostStatus::kOk);
  ASSERT_TRUE(eventually([&] { return block.read(seen) == ReadStatus::kOk; }));
  EXPECT_EQ(seen.generation, 8u);
}

TEST_F(ControlBlocks, CannotBeWrittenByAPeerThatWasGrantedReadOnly) {
  block.initialise(limits_of(7));
  rdma::Grant grant = block.grant();
  grant.access = rdma::kRemoteRead;
  start(grant);
  (void)writer.write(limits_of(666));
  ASSERT_TRUE(polls_until([&] { return writer.failures() != 0; }));
  Limits seen{};
  EXPECT_EQ(block.read(seen), ReadStatus::kOk);
  EXPECT_EQ(seen.generation, 7u);
}

// The owner reads all the time while a peer writes all the time.
TEST_F(ControlBlocks, NeverShowAMixtureOfTwoWrites) {
  start();
  constexpr std::uint64_t kWrites = 20'000;
  std::thread writing([&] {
    for (std::uint64_t generation = 1; generation <= kWrites;) {
      there->poll();
      generation += writer.write(limits_of(generation)) == rdma::PostStatus::kOk;
      if (generation % 256 == 0) std::this_thread::yield();
    }
  });
  std::uint64_t mixed = 0;
  std::uint64_t newest = 0;
  EXPECT_TRUE(eventually([&] {
    Limits seen{};
    if (block.read(seen) == ReadStatus::kOk) {
      mixed += !whole(seen) || seen.generation <= newest;
      newest = seen.generation;
    }
    return newest == kWrites;
  }));
  writing.join();
  EXPECT_EQ(mixed, 0u);
}

TEST_F(RemoteTables, ReadRowsAndTellThoseNeverWritten) {
  TableOwner<Limits> table(*fabric.device, 50, "table");
  table.store(3, limits_of(30));
  table.store(49, limits_of(490));
  Limits row{};
  EXPECT_EQ(remote.read(0, row), RowStatus::kFailed);  // not attached
  start(table, remote);
  EXPECT_GE(remote.rows(), 50u);
  EXPECT_EQ(remote.read(3, row), RowStatus::kOk);
  EXPECT_EQ(row.generation, 30u);
  EXPECT_EQ(remote.read(49, row), RowStatus::kOk);
  EXPECT_EQ(row.generation, 490u);
  EXPECT_EQ(remote.read(4, row), RowStatus::kEmpty);
  EXPECT_EQ(remote.read(remote.rows(), row), RowStatus::kFailed);
}

TEST_F(RemoteTables, DoNotWaitWhenReadByADatapath) {
  TableOwner<Limits> table(*fabric.device, 2, "table");
  table.store(1, limits_of(5));
  start(table, remote);
  ASSERT_TRUE(remote.start(1));
  EXPECT_FALSE(remote.start(0));  // one at a time
  Limits row{};
  EXPECT_EQ(remote.finish(row), RowStatus::kPending);  // nobody polled yet
  RowStatus status = RowStatus::kPending;
  ASSERT_TRUE(polls_until([&] {
    status = remote.finish(row);
    return status != RowStatus::kPending;
  }));
  EXPECT_EQ(status, RowStatus::kOk);
  EXPECT_EQ(row.generation, 5u);
}

TEST_F(RemoteTables, GiveUpOnARowThatIsAlwaysBeingWritten) {
  TableOwner<Limits> table(*fabric.device, 1, "table");
  table.store(0, limits_of(5));
  auto* const lines = reinterpret_cast<RecordLine*>(table.grant().region->data());
  lines[VersionedRecord<Limits>::kLines - 1].version = 3;  // its writer stopped half-way
  start(table, remote);
  Limits row{};
  EXPECT_EQ(remote.read(0, row), RowStatus::kTorn);
  EXPECT_EQ(remote.torn_reads(), std::uint64_t{RemoteTable<Limits>::kAttemptsMax});
}

TEST_F(RemoteTables, FailWhenTheOwnerIsGone) {
  TableOwner<Limits> table(*fabric.device, 1, "table");
  table.store(0, limits_of(5));
  start(table, remote);
  here.reset();
  Limits row{};
  ASSERT_TRUE(eventually([&] { return remote.read(0, row) == RowStatus::kFailed; }));
  EXPECT_TRUE(there->failed());
}

// Long enough that a store is often seen at work.
struct LongRow {
  std::uint64_t words[250];
};

// One thread stores a row in bursts of many lengths, another READs it all the while. After a burst
// the owner waits for the next READ to begin, so that the reader is never kept from a whole row,
// however slow it is.
TEST_F(RemoteTables, NeverGiveAMixtureOfTwoStores) {
  TableOwner<LongRow> table(*fabric.device, 1, "table");
  LongRow stored{};
  table.store(0, stored);
  RemoteTable<LongRow> reader(*fabric.device, "reader");
  start(table, reader);
  std::atomic<std::uint64_t> reads{0};
  std::atomic<bool> stop{false};
  std::thread storing([&] {
    std::uint64_t burst = 0;
    for (std::uint64_t generation = 1; !stop.load(); ++generation) {
      std::fill(std::begin(stored.words), std::end(stored.words), generation);
      table.store(0, stored);
      if (burst-- > 0) continue;
      burst = generation % 37;
      const std::uint64_t seen = reads.load();
      while (reads.load() == seen && !stop.load()) std::this_thread::yield();
    }
  });
  std::uint64_t mixed = 0;
  std::uint64_t newest = 0;
  int good = 0;
  EXPECT_TRUE(eventually([&] {
    LongRow row{};
    ++reads;
    if (reader.read(0, row) == RowStatus::kOk) {
      const bool whole =
          std::count(std::begin(row.words), std::end(row.words), row.words[0]) == 250;
      mixed += !whole || row.words[0] < newest;
      newest = row.words[0];
      ++good;
    }
    return good >= 5'000 && newest > 1'000;
  }));
  stop.store(true);
  storing.join();
  EXPECT_EQ(mixed, 0u);
}

TEST_F(RemoteTables, AreFollowedRowByRowAsTheyGrow) {
  TableOwner<Limits> table(*fabric.device, 64, "table");
  for (std::uint64_t row = 0; row < 5; ++row) table.store(row, limits_of(row));
  TableFollower<Limits> follower(*fabric.device, "follower");
  EXPECT_FALSE(follower.behind());
  start(table, follower);
  std::vector<std::uint64_t> rows;
  const auto catch_up = [&] {
    return eventually([&] {
      follower.step([&](const Limits& row) { rows.push_back(row.generation); },
                    [&] { there->poll(); });
      return !follower.behind();
    });
  };
  ASSERT_TRUE(catch_up());
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  table.store(5, limits_of(5));
  EXPECT_FALSE(follower.behind());
  follower.look_again();  // an update spoke of it
  ASSERT_TRUE(catch_up());
  table.store(6, limits_of(6));
  follower.look_again();  // something was missed
  ASSERT_TRUE(catch_up());
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  rows.clear();
  follower.attach(*there, there->extras()[0]);
  ASSERT_TRUE(catch_up());
  EXPECT_EQ(rows.size(), 7u);
}

// The READ finds no row; before its completion is looked at, the row is stored and spoken of.
TEST_F(RemoteTables, AreLookedAtAgainByAFollowerWhoseReadWasUnderWay) {
  TableOwner<Limits> table(*fabric.device, 8, "table");
  TableFollower<Limits> follower(*fabric.device, "follower");
  start(table, follower);
  std::vector<std::uint64_t> rows;
  const auto on_row = [&](const Limits& row) { rows.push_back(row.generation); };
  follower.step(on_row, [] {});
  ASSERT_TRUE(eventually([&] { return there->poll() != 0; }));
  table.store(0, limits_of(0));
  follower.look_again();
  ASSERT_TRUE(eventually([&] {
    follower.step(on_row, [&] { there->poll(); });
    return !follower.behind();
  }));
  EXPECT_EQ(rows, std::vector<std::uint64_t>{0});
}

TEST(Reconnect, TriesAtTheIntervalUntilItWorksAndAgainAfterALoss) {
  Reconnect reconnect(100);
  int attempts = 0;
  bool works = false;
  const auto attempt = [&] {
    ++attempts;
    if (!works) throw rdma::SetupError(rdma::SetupCause::kRefused, "nobody is there");
  };
  EXPECT_FALSE(reconnect.step(1'000, attempt));
  EXPECT_EQ(reconnect.error(), "nobody is there");
  EXPECT_FALSE(reconnect.step(1'099, attempt));
  EXPECT_EQ(attempts, 1);
  works = true;
  EXPECT_TRUE(reconnect.step(1'100, attempt));
  EXPECT_FALSE(reconnect.down());
  EXPECT_TRUE(reconnect.error().empty());
  EXPECT_FALSE(reconnect.step(9'000, attempt));
  EXPECT_EQ(attempts, 2);
  reconnect.mark_down();
  EXPECT_TRUE(reconnect.step(9'100, attempt));
}

// The datapath is quicker: it has taken over the connection and lost it while attempt() was on its
// way back, or right before.
TEST(Reconnect, ALossBeforeTheAttemptHasReturnedIsNotForgotten) {
  Reconnect reconnect(100);
  EXPECT_TRUE(reconnect.step(1'000, [&] { reconnect.mark_down(); }));
  EXPECT_TRUE(reconnect.down());
  EXPECT_TRUE(reconnect.step(1'100, [] {}));
  EXPECT_FALSE(reconnect.down());
}

TEST(Reconnect, AnAttemptThatEndsInAnyErrorLeavesItDown) {
  Reconnect reconnect(100);
  EXPECT_THROW(reconnect.step(1'000, [] { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_TRUE(reconnect.down());
}

TEST_F(Heartbeats, AreAliveWhileBeatingAndDeadWhenTheyStop) {
  const HeartbeatOptions options{
      .interval_ns = 200'000, .suspect_after_ns = 5'000'000, .dead_after_ns = 20'000'000};
  HeartbeatMonitor monitor(*fabric.device, options, "watch");
  EXPECT_EQ(monitor.evaluate(now_ns()), Liveness::kUnknown);
  watch(monitor, now_ns());
  ASSERT_TRUE(becomes_alive([&] { return monitor.evaluate(now_ns()); }));
  const std::uint64_t stopped = now_ns();
  bool suspected = false;
  ASSERT_TRUE(polls_until([&] {
    const Liveness state = monitor.evaluate(now_ns());
    suspected = suspected || state == Liveness::kSuspect;
    return state == Liveness::kDead;
  }));
  EXPECT_TRUE(suspected);
  EXPECT_GE(now_ns() - stopped, options.dead_after_ns / 2);
  ASSERT_TRUE(becomes_alive([&] { return monitor.evaluate(now_ns()); })) << "it was only slow";
}

// The answer lies there; an idle pattern polls its connection only now and then.
TEST_F(Heartbeats, AreNotMissedByAReaderThatDidNotPoll) {
  HeartbeatMonitor monitor(*fabric.device, {}, "watch");
  std::uint64_t now = 1'000'000'000;
  watch(monitor, now);
  ASSERT_TRUE(becomes_alive([&] { return monitor.evaluate(now += 1'000'000); }));
  for (int turn = 0; turn < 1000; ++turn) {
    ASSERT_EQ(monitor.evaluate(now += 10'000'000), Liveness::kAlive) << "turn " << turn;
  }
  heartbeat.beat();
  ASSERT_TRUE(polls_until([&] {
    return monitor.evaluate(now += 100'000) == Liveness::kAlive && monitor.score().silent_ns() == 0;
  }));
}

TEST_F(Heartbeats, AreDeadAtOnceWhenTheConnectionFails) {
  HeartbeatMonitor monitor(*fabric.device, {.interval_ns = 100'000}, "watch");
  watch(monitor, now_ns());
  ASSERT_TRUE(becomes_alive([&] { return monitor.evaluate(now_ns()); }));
  here.reset();
  ASSERT_TRUE(polls_until([&] { return monitor.evaluate(now_ns()) == Liveness::kDead; }));
}

// The kernel marks the word when the thread ends, as it does when the whole process is killed:
// before anything of the process is taken apart.
TEST_F(Heartbeats, AreDeadAtOnceWhenTheThreadThatBeatsHasEndedWithoutSigningOff) {
  const HeartbeatOptions patient{.interval_ns = 100'000,
                                 .suspect_after_ns = 30'000'000'000,
                                 .dead_after_ns = 60'000'000'000,
                                 .by_life = true};
  HeartbeatOptions by_silence = patient;
  by_silence.by_life = false;
  HeartbeatMonitor monitor(*fabric.device, patient, "watch");
  HeartbeatMonitor other(*fabric.device, by_silence, "other");
  watch(monitor, now_ns());
  other.attach(*there, there->extras()[0], now_ns());
  std::thread([&] { ASSERT_TRUE(heartbeat.sign_on()); }).join();
  ASSERT_TRUE(polls_until([&] {
    (void)other.evaluate(now_ns());
    return monitor.evaluate(now_ns()) == Liveness::kDead;
  }));
  EXPECT_NE(other.evaluate(now_ns()), Liveness::kDead) << "it goes by silence alone";
}

TEST_F(Heartbeats, AreNotDeadByAThreadThatHasSignedOff) {
  HeartbeatMonitor monitor(*fabric.device, {.interval_ns = 100'000, .by_life = true}, "watch");
  watch(monitor, now_ns());
  std::thread([&] {
    ASSERT_TRUE(heartbeat.sign_on());
    heartbeat.sign_off();
  }).join();
  ASSERT_TRUE(becomes_alive([&] { return monitor.evaluate(now_ns()); }));
}

}  // namespace
}  // namespace tickpath::link::test
