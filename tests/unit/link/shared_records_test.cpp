// Records that several write: what a reader may see of them, by one thread and by many.
#include "common/link/shared_records.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "common/rdma/shm/freedoms.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/shared_row.hpp"
#include "tests/unit/link/fabric.hpp"
#include "tests/unit/link/shared_history.hpp"

namespace tickpath::link::test {
namespace {

constexpr rdma::AccessFlags kGuardRights = rdma::kRemoteRead | rdma::kRemoteAtomic;

template <std::size_t kWords>
using Row = test_support::SharedRow<kWords>;

// The owner's memory, and clients with a connection each.
template <class T>
class Records {
 public:
  static constexpr std::size_t kRecords = 4;
  using Size = SharedSize<T>;

  struct Client {
    std::unique_ptr<Connection> here, there;
    std::unique_ptr<SharedRecords<T>> records;
  };

  Records() {
    guards_ =
        fabric.device->allocate(Size::guards(kRecords), rdma::kLocalWrite | kGuardRights, "guards");
    for (auto& lane : lanes_)
      lane = fabric.device->allocate(
          Size::lane(kRecords), rdma::kLocalWrite | rdma::kRemoteRead | rdma::kRemoteWrite, "lane");
  }

  // own: the lane to write in; kLanesMax: none.
  Client client(std::uint32_t own) { return client(own, best_fetch(*fabric.device)); }
  Client client(std::uint32_t own, SharedFetch fetch) {
    std::vector<rdma::Grant> grants{
        {guards_.get(), own < kLanesMax ? kGuardRights : rdma::AccessFlags{rdma::kRemoteRead}}};
    for (const auto& lane : lanes_) grants.push_back({lane.get(), rdma::kRemoteRead});
    if (own < kLanesMax) grants.push_back({lanes_[own].get(), rdma::kRemoteWrite});
    Client client;
    fabric.meet(
        [&] {
          client.there = std::move(connect_tables(*fabric.device, fabric.endpoint, {}).connection);
        },
        [&](rdma::ConnectionRequest& request) {
          client.here = accept_tables(*fabric.device, request, {}, grants);
        });
    client.records =
        std::make_unique<SharedRecords<T>>(*fabric.device, kRecords, 4, "client", fetch);
    client.records->attach(*client.there, place_of(client.there->extras(), own));
    return client;
  }

  static SharedPlace place_of(std::span<const rdma::RemoteRegion> extras, std::uint32_t own) {
    SharedPlace place;
    place.guards = extras[0];
    for (std::size_t lane = 0; lane < kLanesMax; ++lane) place.lanes[lane] = extras[1 + lane];
    place.own = own;
    if (own < kLanesMax) place.own_lane = extras[1 + kLanesMax];
    place.records = place.lane_records = kRecords;
    return place;
  }

  std::byte* slot(std::uint32_t lane, std::size_t record, std::uint32_t slot) {
    return lanes_[lane]->data() + (record * 2 + slot) * Size::kSlotBytes;
  }

  Fabric fabric;

 private:
  std::unique_ptr<rdma::MemoryRegion> guards_;
  std::array<std::unique_ptr<rdma::MemoryRegion>, kLanesMax> lanes_;
};

template <class T>
SharedResult await(typename Records<T>::Client& client, T& value) {
  SharedResult result;
  EXPECT_TRUE(eventually([&] {
    client.there->poll();
    return client.records->take(result, value);
  }));
  return result;
}

template <class T>
SharedResult read(typename Records<T>::Client& client, T& value, std::size_t record = 1) {
  EXPECT_TRUE(client.records->read(record, 7));
  return await<T>(client, value);
}

template <class T>
SharedResult publish(typename Records<T>::Client& client, SharedGuard based_on, const T& value,
                     std::size_t record = 1) {
  EXPECT_TRUE(client.records->publish(record, based_on, value, 8));
  T nothing;
  return await<T>(client, nothing);
}

class OnAtomics : public testing::Test {
 protected:
  void SetUp() override {
    if (open_test_device()->info().atomics == rdma::AtomicReach::kNone)
      GTEST_SKIP() << "the device lacks: atomics";
  }
};
class SharedRecordsTest : public OnAtomics {};
class SharedRecordsStress : public OnAtomics {};

using Small = Row<8>;    // one line
using Book = Row<40>;    // five
using Large = Row<160>;  // twenty

TEST_F(SharedRecordsTest, AreEmptyUntilSomebodyPublishes) {
  Records<Book> table;
  auto writer = table.client(0);
  auto reader = table.client(kLanesMax);
  Book value{};
  EXPECT_EQ(read<Book>(reader, value).status, SharedStatus::kEmpty);
  const SharedResult empty = read<Book>(writer, value);
  EXPECT_EQ(empty.status, SharedStatus::kEmpty);
  const SharedResult first = publish<Book>(writer, empty.guard, Book::of(1, 1));
  EXPECT_EQ(first.status, SharedStatus::kOk);
  EXPECT_EQ(first.cookie, 8u);
  EXPECT_TRUE(first.publication);
  const SharedResult seen = read<Book>(reader, value);
  EXPECT_EQ(seen.status, SharedStatus::kOk);
  EXPECT_EQ(seen.cookie, 7u);
  EXPECT_EQ(seen.guard, first.guard);
  EXPECT_EQ(value.version, 1u);
  EXPECT_TRUE(value.whole());
}

// Versions come into the writer's slots in turn, and into another writer's.
TEST_F(SharedRecordsTest, AReadThatExpectsTheWrongSlotAsksOnceMore) {
  Records<Book> table;
  auto one = table.client(0);
  auto two = table.client(1);
  auto both = table.client(kLanesMax, SharedFetch::kBoth);
  auto expected = table.client(kLanesMax, SharedFetch::kExpected);
  Book value{};
  SharedGuard guard = read<Book>(one, value).guard;
  EXPECT_EQ(read<Book>(two, value).guard, guard);
  const auto publish_and_read = [&](auto& writer, std::uint64_t version, std::uint64_t name) {
    guard = publish<Book>(writer, guard, Book::of(version, name)).guard;
    for (auto* reader : {&both, &expected}) {
      value = {};
      EXPECT_EQ(read<Book>(*reader, value).status, SharedStatus::kOk);
      EXPECT_EQ(value.version, version);
      EXPECT_EQ(value.writer, name);
      EXPECT_TRUE(value.whole());
    }
  };
  for (std::uint64_t version = 1; version <= 4; ++version) publish_and_read(one, version, 1);
  EXPECT_EQ(both.records->other_slots(), 0u);
  EXPECT_EQ(expected.records->other_slots(), 3u) << "the first was where nothing is known yet";
  publish_and_read(two, 5, 2);
  EXPECT_EQ(both.records->other_slots(), 1u) << "another lane";
  EXPECT_EQ(expected.records->other_slots(), 4u);
  // Nothing changed: nothing more is asked for.
  EXPECT_EQ(read<Book>(expected, value).status, SharedStatus::kOk);
  EXPECT_EQ(expected.records->other_slots(), 4u);
  EXPECT_EQ(both.records->torn_reads() + expected.records->torn_reads(), 0u);
}

TEST_F(SharedRecordsTest, OfTwoWritersTheOneThatKnowsTheNewestVersionGoesOn) {
  Records<Book> table;
  auto one = table.client(3);
  auto two = table.client(5);
  Book value{};
  const SharedGuard nothing = read<Book>(one, value).guard;
  EXPECT_EQ(read<Book>(two, value).guard, nothing);
  const SharedGuard first = publish<Book>(one, nothing, Book::of(1, 3)).guard;
  const SharedResult lost = publish<Book>(two, nothing, Book::of(1, 5));
  EXPECT_EQ(lost.status, SharedStatus::kLost);
  EXPECT_EQ(lost.guard, first) << "what is there instead";
  const SharedResult seen = read<Book>(two, value);
  EXPECT_EQ(seen.status, SharedStatus::kOk);
  EXPECT_EQ(value.writer, 3u);
  EXPECT_EQ(publish<Book>(two, seen.guard, Book::of(2, 5)).status, SharedStatus::kOk);
  EXPECT_EQ(publish<Book>(one, first, Book::of(2, 3)).status, SharedStatus::kLost);
  EXPECT_EQ(read<Book>(one, value).status, SharedStatus::kOk);
  EXPECT_EQ(value.writer, 5u);
}

// Which of its slots holds the record a client must have seen before it may touch the other one.
TEST_F(SharedRecordsTest, NothingIsPublishedBeforeTheRecordWasRead) {
  Records<Small> table;
  auto writer = table.client(0);
  EXPECT_FALSE(writer.records->publish(1, SharedGuard{}, Small::of(1, 1), 0));
  Small value{};
  SharedGuard guard = read<Small>(writer, value).guard;
  for (std::uint64_t version = 1; version <= 5; ++version)
    guard = publish<Small>(writer, guard, Small::of(version, 1)).guard;
  // Another life of the same lane.
  writer = {};
  auto again = table.client(0);
  EXPECT_FALSE(again.records->publish(1, guard, Small::of(6, 1), 0));
  guard = read<Small>(again, value).guard;
  EXPECT_EQ(value.version, 5u);
  const Small* const live = reinterpret_cast<const Small*>(table.slot(0, 1, guard.slot()));
  EXPECT_EQ(publish<Small>(again, guard, Small::of(6, 1)).status, SharedStatus::kOk);
  EXPECT_EQ(live->version, 5u) << "the slot that readers were in was left alone";
}

// Whoever only reads has no right to write; whoever writes has it for its own lane.
TEST_F(SharedRecordsTest, AReaderCannotPublish) {
  Records<Small> table;
  auto reader = table.client(kLanesMax);
  Small value{};
  EXPECT_EQ(read<Small>(reader, value).status, SharedStatus::kEmpty);
  EXPECT_FALSE(reader.records->publish(1, SharedGuard{}, Small::of(1, 1), 0));
  EXPECT_FALSE(reader.records->read(Records<Small>::kRecords, 0)) << "no such record";
}

TEST_F(SharedRecordsTest, AsManyAsThereIsRoomForAreUnderWayAtOnce) {
  Records<Small> table;
  auto writer = table.client(2);
  Small value{};
  for (std::size_t record = 0; record < 4; ++record)
    publish<Small>(writer, read<Small>(writer, value, record).guard, Small::of(record + 10, 2),
                   record);
  for (std::size_t record = 0; record < 4; ++record)
    ASSERT_TRUE(writer.records->read(record, record));
  EXPECT_FALSE(writer.records->read(0, 9));
  EXPECT_EQ(writer.records->under_way(), 4u);
  for (std::size_t record = 0; record < 4; ++record) {
    const SharedResult result = await<Small>(writer, value);
    EXPECT_EQ(result.cookie, record);
    EXPECT_EQ(result.status, SharedStatus::kOk);
    EXPECT_EQ(value.version, record + 10);
  }
  EXPECT_EQ(writer.records->under_way(), 0u);
}

// A writer ends, or stands still, with half a version written: nobody sees it.
TEST_F(SharedRecordsTest, WhatAWriterLeftHalfWrittenIsNeverShown) {
  Records<Book> table;
  auto one = table.client(0);
  auto two = table.client(1);
  Book value{};
  const SharedGuard guard = publish<Book>(one, read<Book>(one, value).guard, Book::of(1, 1)).guard;
  const Book half = Book::of(2, 1);
  std::memcpy(table.slot(0, 1, 1 - guard.slot()), &half, sizeof(half) / 2);
  EXPECT_EQ(read<Book>(two, value).status, SharedStatus::kOk);
  EXPECT_EQ(value.version, 1u);
  EXPECT_TRUE(value.whole());
  EXPECT_EQ(publish<Book>(two, guard, Book::of(2, 2)).status, SharedStatus::kOk);
  // The writer goes on with what it knew.
  EXPECT_EQ(publish<Book>(one, guard, half).status, SharedStatus::kLost);
  EXPECT_EQ(read<Book>(two, value).status, SharedStatus::kOk);
  EXPECT_EQ(value.writer, 2u);
}

TEST_F(SharedRecordsTest, AnOwnerThatIsGoneFailsWhatIsUnderWay) {
  Records<Small> table;
  auto writer = table.client(0);
  Small value{};
  const SharedGuard guard = read<Small>(writer, value).guard;
  writer.here.reset();
  EXPECT_TRUE(eventually([&] {
    writer.there->poll();
    return writer.there->failed();
  }));
  SharedResult result;
  if (writer.records->publish(1, guard, Small::of(1, 1), 0)) result = await<Small>(writer, value);
  EXPECT_EQ(result.status, SharedStatus::kFailed);
  EXPECT_FALSE(writer.records->take(result, value));
}

// ------------------------------------------------------------------- many at once, for a checker

// Tries until it is done: reads, adds one, publishes.
template <class T>
void write_on(typename Records<T>::Client& client, SharedHistory& history, std::uint8_t writer,
              const std::atomic<bool>& stop) {
  T value{};
  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint64_t begun = history.begin();
    const SharedResult seen = read<T>(client, value);
    if (seen.status == SharedStatus::kTorn) continue;
    const std::uint64_t version = seen.guard.version();
    if (seen.status == SharedStatus::kOk)
      history.read(version, value.whole() && value.version == version, begun);
    history.attempt(version + 1);
    const SharedResult done = publish<T>(client, seen.guard, T::of(version + 1, writer));
    if (done.status == SharedStatus::kOk) history.published(version + 1, writer, begun);
  }
}

template <class T>
void read_on(typename Records<T>::Client& client, SharedHistory& history, std::uint64_t reads) {
  T value{};
  for (std::uint64_t i = 0; i < reads;) {
    const std::uint64_t begun = history.begin();
    const SharedResult seen = read<T>(client, value);
    if (seen.status != SharedStatus::kOk) continue;
    ++i;
    const std::uint64_t version = seen.guard.version();
    const std::uint8_t writer = history.writer_of(version);
    history.read(
        version,
        value.whole() && value.version == version && (writer == 0 || writer == value.writer),
        begun);
  }
}

// How many reads each reader makes: a hundred million and more by
//   TICKPATH_SHARED_READS=50000000 unit_link --gtest_filter='*SharedRecordsStress*'
std::uint64_t reads_wanted() {
  if (const char* const text = std::getenv("TICKPATH_SHARED_READS"))
    return std::strtoull(text, nullptr, 10);
  const char* const freedoms = std::getenv("TICKPATH_SHM_FREEDOMS");
  const bool slow = freedoms != nullptr && *freedoms != '\0';
  return over_network() || test_support::kSanitized || slow ? 300 : 20'000;
}

// With half of the clients fetching both slots, half the expected one.
template <class T>
void stress(std::uint32_t writers, std::uint32_t readers) {
  Records<T> table;
  SharedHistory history(std::size_t{1} << 24);
  std::vector<typename Records<T>::Client> clients;
  for (std::uint32_t i = 0; i < writers + readers; ++i)
    clients.push_back(table.client(i < writers ? i : std::uint32_t{kLanesMax},
                                   i % 2 == 0 ? SharedFetch::kBoth : SharedFetch::kExpected));
  std::atomic<bool> stop{false};
  std::vector<std::thread> writing, reading;
  for (std::uint32_t i = 0; i < writers; ++i)
    writing.emplace_back(
        [&, i] { write_on<T>(clients[i], history, static_cast<std::uint8_t>(i + 1), stop); });
  for (std::uint32_t i = 0; i < readers; ++i)
    reading.emplace_back([&, i] { read_on<T>(clients[writers + i], history, reads_wanted()); });
  for (std::thread& thread : reading) thread.join();
  stop = true;
  for (std::thread& thread : writing) thread.join();

  T value{};
  const SharedResult last = read<T>(clients[0], value);
  EXPECT_GE(history.reads(), reads_wanted() * readers);
  EXPECT_EQ(history.torn(), 0u) << "of " << history.reads();
  EXPECT_EQ(history.older(), 0u);
  EXPECT_EQ(history.unborn(), 0u);
  EXPECT_EQ(history.twice(), 0u);
  EXPECT_EQ(last.guard.version(), history.publications()) << "each counts, or was told lost";
  EXPECT_EQ(value.version, history.publications());
  std::printf("%u writers, %u readers, %zu lines: %llu reads, %llu publications\n", writers,
              readers, Records<T>::Size::kLines, static_cast<unsigned long long>(history.reads()),
              static_cast<unsigned long long>(history.publications()));
}

// What shared records must not be: a sequence lock that one WRITE writes and one READ reads,
// version in front and behind. The same history, with every freedom that RDMA leaves to a device.
TEST_F(SharedRecordsStress, ANaiveSequenceLockIsFoundOut) {
  if (over_network()) GTEST_SKIP() << "the freedoms are the shm provider's";
  struct Locked {
    std::uint64_t before;
    Book book;
    std::uint64_t after;
  };
  rdma::detail::take_freedoms(rdma::detail::Freedoms{.seed = 1, .pause = 200});
  {
    Records<Book> table;
    auto writer = table.client(0);
    auto reader = table.client(kLanesMax);
    const auto memory = table.fabric.device->allocate(4096, rdma::kLocalWrite, "locks");
    auto* const out = reinterpret_cast<Locked*>(memory->data());
    auto* const in = out + 1;
    const auto move = [&](auto& client, rdma::Opcode opcode, Locked* local,
                          const rdma::RemoteRegion& remote) {
      rdma::WorkRequest request{.opcode = opcode,
                                .flags = rdma::kSignaled,
                                .local_address = local,
                                .length_bytes = sizeof(Locked),
                                .lkey = memory->lkey(),
                                .rkey = remote.rkey,
                                .remote_address = remote.address};
      std::size_t posted = 0;
      while (client.there->queue_pair().post_send({&request, 1}, &posted) != rdma::PostStatus::kOk)
        client.there->poll();
      client.there->poll();
    };
    SharedHistory history(std::size_t{1} << 20);
    std::atomic<bool> stop{false};
    std::thread writing([&] {
      for (std::uint64_t version = 1; !stop.load(); ++version) {
        *out = {version, Book::of(version, 1), version};
        history.attempt(version);
        move(writer, rdma::Opcode::kWrite, out, writer.there->extras()[1 + kLanesMax]);
      }
    });
    EXPECT_TRUE(eventually([&] {
      const std::uint64_t begun = history.begin();
      move(reader, rdma::Opcode::kRead, in, reader.there->extras()[1]);
      if (in->before == in->after && in->before != 0)
        history.read(in->before, in->book.whole() && in->book.version == in->before, begun);
      return history.torn() > 0;
    })) << "it was always whole";
    stop = true;
    writing.join();
  }
  const char* const before = std::getenv("TICKPATH_SHM_FREEDOMS");
  rdma::detail::take_freedoms(
      before == nullptr ? std::nullopt : std::optional(rdma::detail::parse_freedoms(before)));
}

TEST_F(SharedRecordsStress, OneWriterOneLine) { stress<Small>(1, 2); }
TEST_F(SharedRecordsStress, TwoWritersABookOfFiveLines) { stress<Book>(2, 2); }
TEST_F(SharedRecordsStress, FourWritersTwentyLines) { stress<Large>(4, 2); }
TEST_F(SharedRecordsStress, EightWritersABookOfFiveLines) { stress<Book>(8, 1); }

}  // namespace
}  // namespace tickpath::link::test
