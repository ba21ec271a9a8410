// What datagrams and multicast promise, on every provider that has them: common/rdma/datagram.hpp.
// What a provider may do beyond, and only shm can show, is in
// tests/unit/rdma/shm_datagram_test.cpp.
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/conformance/datagram_side.hpp"
#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {
namespace {

constexpr std::uint32_t kLength = 64;
// Long enough that what comes at all has come.
constexpr int kSilenceMs = 60;

class Datagrams : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      device_ = open_test_device(GetParam());
    } catch (const SetupError& error) {
      if (error.cause() != SetupCause::kNoDevice) throw;
      GTEST_SKIP() << "no " << GetParam() << " device here: " << error.what();
    }
    if (has_capability(device_->info(), Capability::kDatagrams)) return;
    note_missing(testing::UnitTest::GetInstance()->current_test_info()->name(),
                 Capability::kDatagrams);
    GTEST_SKIP() << "no " << name_of(Capability::kDatagrams);
  }
  void TearDown() override {
    peers_.clear();
    sides_.clear();
    for (const std::string& folder : folders_) std::filesystem::remove_all(folder);
  }

  bool on_shm() const { return std::string_view(GetParam()) == "shm"; }

  DatagramSide& side(const DatagramSideOptions& options = {}) {
    sides_.push_back(std::make_unique<DatagramSide>(*device_, options));
    return *sides_.back();
  }
  PeerProcess& peer() {
    peers_.push_back(std::make_unique<PeerProcess>(GetParam()));
    return *peers_.back();
  }
  void drop_peer(std::size_t index) { peers_.erase(peers_.begin() + static_cast<long>(index)); }

  // A group of this test alone.
  std::string group() {
    static int number = 0;
    const int here = static_cast<int>(::getpid() % 200) * 250 + number++;
    if (!on_shm())
      return "239.255." + std::to_string(here / 250 % 250) + "." + std::to_string(here % 250 + 1);
    folders_.push_back(
        (std::filesystem::temp_directory_path() /
         ("tickpath." + std::to_string(::getpid()) + "." + std::to_string(number) + ".group"))
            .string());
    return folders_.back();
  }

  static Heard heard(PeerProcess& peer, std::uint64_t count, int timeout_ms = 5000) {
    return heard_of_words(
        peer.ask("datagram receive " + std::to_string(count) + " " + std::to_string(timeout_ms)));
  }
  static void send(PeerProcess& peer, std::uint64_t first, std::uint64_t count,
                   std::uint32_t length = kLength) {
    peer.ask("datagram send " + std::to_string(first) + " " + std::to_string(count) + " " +
             std::to_string(length));
  }
  // All of them, in order and as they were sent.
  static void expect_all(const Heard& heard, std::uint64_t first, std::uint64_t count) {
    EXPECT_EQ(to_words(heard), to_words({count, first, first + count - 1, 0, 0}));
  }
  static void expect_none(const Heard& heard) { EXPECT_EQ(heard.count, 0u); }

  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<DatagramSide>> sides_;
  std::vector<std::unique_ptr<PeerProcess>> peers_;
  std::vector<std::string> folders_;
};

INSTANTIATE_TEST_SUITE_P(Providers, Datagrams,
                         testing::Values("shm", "verbs", "ofi_tcp", "ofi_shm", "ofi_tcp_rxm",
                                         "ofi_verbs", "ofi_verbs_rxm"),
                         [](const auto& provider) { return std::string(provider.param); });

// ------------------------------------------------------------------------------------- unicast

TEST_P(Datagrams, ReachTheQueuePairThatTheyAreAddressedTo) {
  DatagramSide& mine = side();
  PeerProcess& other = peer();
  mine.reach(address_of_word(other.ask("datagram open")));
  EXPECT_EQ(mine.send(1, 20, kLength), "");
  expect_all(heard(other, 20), 1, 20);
}

TEST_P(Datagrams, ComeInAnyLengthUpToTheLongest) {
  DatagramSide& mine = side();
  PeerProcess& other = peer();
  mine.reach(address_of_word(other.ask("datagram open")));
  const std::uint32_t longest = mine.queue_pair().datagram_bytes_max();
  EXPECT_EQ(longest, device_->info().datagram_bytes_max);
  std::uint64_t number = 1;
  for (const std::uint32_t length : {8u, 9u, 47u, 48u, 49u, 64u, 112u, 113u, 1000u, longest}) {
    if (length > longest) continue;
    EXPECT_EQ(mine.send(number, 1, length), "") << length;
    expect_all(heard(other, 1), number++, 1);
  }
}

TEST_P(Datagrams, LieBehindRoomForAHeaderThatSaysWhereTheyCameFrom) {
  DatagramSide& mine = side();
  PeerProcess& other = peer();
  const DatagramAddress theirs = address_of_word(other.ask("datagram open"));
  other.ask("datagram reach " + to_word(mine.queue_pair().address()));
  send(other, 7, 1);
  expect_all(mine.receive(1, 5000), 7, 1);
  EXPECT_EQ(mine.last().byte_length, kGrhBytes + kLength) << "the room counts, as in verbs";
  EXPECT_EQ(mine.last().source_qp_number, theirs.qp_number);
  EXPECT_EQ(mine.last().qp_number, mine.queue_pair().number());
  const std::span<const std::byte, kGrhBytes> grh(mine.last_buffer(), kGrhBytes);
  const DatagramAddress source = source_of(mine.last(), grh);
  EXPECT_EQ(source.gid, theirs.gid);
  // Enough to answer by.
  mine.reach(source);
  EXPECT_EQ(mine.send(8, 1, kLength), "");
  expect_all(heard(other, 1), 8, 1);
}

TEST_P(Datagrams, CarryImmediateDataAndInlineBytes) {
  DatagramSide& mine = side();
  DatagramSide& other = side();
  mine.reach(other.queue_pair().address());
  DatagramRequest request = mine.request(3, std::min(kLength, mine.queue_pair().inline_bytes()));
  request.opcode = Opcode::kSendWithImm;
  request.imm_data = 0xfeed'beef;
  request.flags |= kInline;
  request.lkey = 0;
  EXPECT_EQ(mine.send(request), "");
  expect_all(other.receive(1, 5000), 3, 1);
  EXPECT_EQ(other.last().opcode, Opcode::kRecvWithImm);
  EXPECT_EQ(other.last().imm_data, 0xfeed'beefu);
}

TEST_P(Datagrams, AreRefusedWhenTheyAreTooLong) {
  DatagramSide& mine = side();
  DatagramSide& other = side();
  mine.reach(other.queue_pair().address());
  DatagramRequest request = mine.request(1, kLength);
  request.length_bytes = mine.queue_pair().datagram_bytes_max() + 1;
  EXPECT_EQ(mine.queue_pair().post_send(request), PostStatus::kBadRequest);
  request = mine.request(1, kLength);
  request.flags |= kInline;
  request.length_bytes = mine.queue_pair().inline_bytes() + 1;
  EXPECT_EQ(mine.queue_pair().post_send(request), PostStatus::kBadRequest);
  // And nothing was posted: the next one goes.
  EXPECT_EQ(mine.send(2, 1, kLength), "");
  expect_all(other.receive(1, 5000), 2, 1);
}

TEST_P(Datagrams, AreRefusedWithoutADestinationOrAsAnotherOperation) {
  DatagramSide& mine = side();
  DatagramSide& other = side();
  mine.reach(other.queue_pair().address());
  DatagramRequest request = mine.request(1, kLength);
  request.destination = nullptr;
  EXPECT_EQ(mine.queue_pair().post_send(request), PostStatus::kBadRequest);
  request = mine.request(1, kLength);
  request.opcode = Opcode::kWrite;
  EXPECT_EQ(mine.queue_pair().post_send(request), PostStatus::kBadRequest);
  EXPECT_EQ(mine.queue_pair().post_receive({.wr_id = 1,
                                            .local_address = mine.memory().data(),
                                            .length_bytes = kGrhBytes - 1,
                                            .lkey = mine.memory().lkey()}),
            PostStatus::kBadRequest);
}

TEST_P(Datagrams, AreDroppedWhereNoReceiveIsPosted) {
  DatagramSide& mine = side();
  DatagramSide& other = side({.receives = 0});
  mine.reach(other.queue_pair().address());
  EXPECT_EQ(mine.send(1, 5, kLength), "");
  expect_none(other.receive(1, kSilenceMs));
  // Nothing broke, and what was dropped does not come later.
  DatagramSide& third = side();
  mine.reach(third.queue_pair().address());
  EXPECT_EQ(mine.send(6, 1, kLength), "");
  expect_all(third.receive(1, 5000), 6, 1);
  EXPECT_EQ(other.queue_pair().state(), QueuePairState::kReadyToSend);
}

// A device may drop such a datagram, or complete its receive with an error (datagram.hpp).
TEST_P(Datagrams, LongerThanTheirReceiveHarmNobodyButTheReceiver) {
  DatagramSide& mine = side();
  DatagramSide& other = side({.receives = 4, .receive_bytes = 64});
  mine.reach(other.queue_pair().address());
  EXPECT_EQ(mine.send(1, 1, 1000), "") << "the sender is not told";
  expect_none(other.receive(1, kSilenceMs));
  const auto may_say = [&other](CompletionStatus status) {
    return other.failure() == to_string(status);
  };
  // rxe's "local QP operation error" may have other causes, too.
  EXPECT_TRUE(other.failure().empty() || may_say(CompletionStatus::kLocalLength) ||
              may_say(CompletionStatus::kGeneral))
      << other.failure() << ": " << other.queue_pair().error_text();
  DatagramSide& third = side();
  mine.reach(third.queue_pair().address());
  EXPECT_EQ(mine.send(2, 5, kLength), "");
  expect_all(third.receive(5, 5000), 2, 5);
  EXPECT_EQ(mine.queue_pair().state(), QueuePairState::kReadyToSend);
}

TEST_P(Datagrams, ComeToTheReceivesThatAreLeftAndTheRestIsDropped) {
  DatagramSide& mine = side();
  PeerProcess& other = peer();
  mine.reach(address_of_word(other.ask("datagram open receives=4")));
  for (std::uint64_t number = 1; number <= 12; number += 4) {
    EXPECT_EQ(mine.send(number, 4, kLength), "");
    expect_all(heard(other, 4), number, 4);
  }
}

TEST_P(Datagrams, WithAWrongQKeyAreDropped) {
  DatagramSide& mine = side();
  PeerProcess& other = peer();
  const DatagramAddress theirs = address_of_word(other.ask("datagram open q_key=7777"));
  EXPECT_EQ(theirs.q_key, 7777u);
  mine.reach(theirs);
  DatagramRequest request = mine.request(1, kLength);
  request.remote_q_key = 7778;
  EXPECT_EQ(mine.send(request), "") << "the sender is not told";
  expect_none(heard(other, 1, kSilenceMs));
  EXPECT_EQ(mine.send(2, 1, kLength), "");
  expect_all(heard(other, 1), 2, 1);
}

TEST_P(Datagrams, WithTheHighestBitOfTheQKeySetCarryTheKeyOfTheirQueuePair) {
  DatagramSide& mine = side({.queue_pair = {.q_key = 4242}});
  DatagramSide& other = side({.queue_pair = {.q_key = 4242}});
  mine.reach(other.queue_pair().address());
  DatagramRequest request = mine.request(1, kLength);
  request.remote_q_key = 0x8000'0001;
  EXPECT_EQ(mine.send(request), "");
  expect_all(other.receive(1, 5000), 1, 1);
}

TEST_P(Datagrams, ToAnotherNumberThanAnybodyHasAreLost) {
  DatagramSide& mine = side();
  DatagramSide& other = side();
  mine.reach(other.queue_pair().address());
  DatagramRequest request = mine.request(1, kLength);
  request.remote_qp_number = 0xfff0;
  EXPECT_EQ(mine.send(request), "");
  expect_none(other.receive(1, kSilenceMs));
  EXPECT_EQ(mine.send(2, 1, kLength), "");
  expect_all(other.receive(1, 5000), 2, 1);
}

TEST_P(Datagrams, ToAReceiverThatWasKilledAreLostAndHarmNobody) {
  DatagramSide& mine = side();
  PeerProcess& other = peer();
  mine.reach(address_of_word(other.ask("datagram open")));
  EXPECT_EQ(mine.send(1, 1, kLength), "");
  expect_all(heard(other, 1), 1, 1);
  other.signal(SIGKILL);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(mine.send(2, 1, kLength), "");
  EXPECT_EQ(mine.queue_pair().state(), QueuePairState::kReadyToSend);
  DatagramSide& third = side();
  mine.reach(third.queue_pair().address());
  EXPECT_EQ(mine.send(3, 1, kLength), "");
  expect_all(third.receive(1, 5000), 3, 1);
}

// ----------------------------------------------------------------------------------- multicast

TEST_P(Datagrams, OfAGroupReachEveryReceiver) {
  const std::string name = group();
  for (int i = 0; i < 3; ++i) {
    PeerProcess& each = peer();
    each.ask("datagram open");
    each.ask("datagram join " + name + " receiver");
  }
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kSender);
  EXPECT_EQ(mine.membership().group()->address().qp_number, kMulticastQp);
  EXPECT_EQ(mine.membership().group()->address().q_key, kDefaultQKey);
  EXPECT_EQ(mine.send(1, 30, kLength), "");
  for (const auto& each : peers_) expect_all(heard(*each, 30), 1, 30);
}

TEST_P(Datagrams, OfAGroupReachReceiversThatJoinLater) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kSender);
  EXPECT_EQ(mine.send(1, 10, kLength), "");
  PeerProcess& late = peer();
  late.ask("datagram open");
  late.ask("datagram join " + name + " receiver");
  EXPECT_EQ(mine.send(11, 10, kLength), "");
  expect_all(heard(late, 10), 11, 10);
}

TEST_P(Datagrams, OfAGroupComeNoMoreToWhoHasLeft) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kSender);
  PeerProcess& stays = peer();
  PeerProcess& leaves = peer();
  for (PeerProcess* each : {&stays, &leaves}) {
    each->ask("datagram open");
    each->ask("datagram join " + name + " receiver");
  }
  EXPECT_EQ(mine.send(1, 5, kLength), "");
  expect_all(heard(leaves, 5), 1, 5);
  leaves.ask("datagram leave");
  EXPECT_EQ(mine.send(6, 5, kLength), "");
  expect_none(heard(leaves, 1, kSilenceMs));
  expect_all(heard(stays, 10), 1, 10);
  // And again to who comes back.
  leaves.ask("datagram join " + name + " receiver");
  EXPECT_EQ(mine.send(11, 5, kLength), "");
  expect_all(heard(leaves, 5), 11, 5);
}

TEST_P(Datagrams, OfAGroupComeBackToAMemberThatSendsAndReceives) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kBoth);
  EXPECT_EQ(mine.send(1, 5, kLength), "");
  expect_all(mine.receive(5, 5000), 1, 5);
  EXPECT_EQ(mine.last().source_qp_number, mine.queue_pair().number());
}

TEST_P(Datagrams, OfAGroupDoNotComeToAMereSender) {
  const std::string name = group();
  DatagramSide& mine = side();
  DatagramSide& other = side();
  other.join(name, MulticastRole::kReceiver);
  EXPECT_EQ(other.membership().group(), nullptr) << "a mere receiver has no destination";
  mine.join(name, MulticastRole::kSender);
  EXPECT_EQ(mine.send(1, 5, kLength), "");
  expect_all(other.receive(5, 5000), 1, 5);
  expect_none(mine.receive(1, kSilenceMs));
}

TEST_P(Datagrams, OfOneGroupDoNotComeToAnother) {
  DatagramSide& mine = side();
  DatagramSide& other = side();
  mine.join(group(), MulticastRole::kSender);
  other.join(group(), MulticastRole::kReceiver);
  EXPECT_EQ(mine.send(1, 5, kLength), "");
  expect_none(other.receive(1, kSilenceMs));
}

TEST_P(Datagrams, OfSeveralSendersOfAGroupAllCome) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kReceiver);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    PeerProcess& each = peer();
    each.ask("datagram open");
    each.ask("datagram join " + name + " sender");
    send(each, 1 + 10 * i, 10);
    const Heard got = mine.receive(10, 5000);
    expect_all(got, 1 + 10 * i, 10);
    sum += got.count;
  }
  EXPECT_EQ(sum, 30u);
}

TEST_P(Datagrams, OfAGroupDoNotWaitForAReceiverThatIsStopped) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kSender);
  PeerProcess& stopped = peer();
  PeerProcess& works = peer();
  for (PeerProcess* each : {&stopped, &works}) {
    each->ask("datagram open");
    each->ask("datagram join " + name + " receiver");
  }
  stopped.signal(SIGSTOP);
  for (std::uint64_t number = 1; number <= 400; number += 20) {
    EXPECT_EQ(mine.send(number, 20, kLength), "");
    expect_all(heard(works, 20), number, 20);
  }
  stopped.signal(SIGCONT);
  // The receiver has lost what it had no receive for, and hears the next.
  heard(stopped, 400, kSilenceMs);
  EXPECT_EQ(mine.send(1001, 5, kLength), "");
  const Heard after = heard(stopped, 5);
  EXPECT_EQ(after.last, 1005u);
  EXPECT_EQ(after.damaged, 0u);
}

TEST_P(Datagrams, OfAGroupSurviveTheDeathOfAReceiver) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kSender);
  PeerProcess& dies = peer();
  PeerProcess& works = peer();
  for (PeerProcess* each : {&dies, &works}) {
    each->ask("datagram open");
    each->ask("datagram join " + name + " receiver");
  }
  EXPECT_EQ(mine.send(1, 5, kLength), "");
  dies.signal(SIGKILL);
  EXPECT_EQ(mine.send(6, 5, kLength), "");
  expect_all(heard(works, 10), 1, 10);
}

TEST_P(Datagrams, OfAGroupComeFromASenderThatWasKilledAndStartedAgain) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kReceiver);
  for (std::uint64_t life = 1; life <= 3; ++life) {
    PeerProcess& sender = peer();
    sender.ask("datagram open");
    sender.ask("datagram join " + name + " sender");
    send(sender, 100 * life, 10);
    // Heard once: of a sender that is killed before, shm has not got the ring.
    expect_all(mine.receive(10, 5000), 100 * life, 10);
    send(sender, 100 * life + 10, 10);
    sender.signal(SIGKILL);
    expect_all(mine.receive(10, 5000), 100 * life + 10, 10);
    drop_peer(0);
  }
}

TEST_P(Datagrams, OfASenderThatIsKilledInTheMiddleAreWholeOrMissing) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kReceiver);
  PeerProcess& sender = peer();
  sender.ask("datagram open ring=16");
  sender.ask("datagram join " + name + " sender");
  send(sender, 0, 1, 1000);
  expect_all(mine.receive(1, 5000), 0, 1);
  sender.tell("datagram flood 1000 2000");
  Heard got = mine.receive(~std::uint64_t{0}, 30);
  sender.signal(SIGKILL);
  const Heard rest = mine.receive(~std::uint64_t{0}, kSilenceMs);
  EXPECT_GT(got.count + rest.count, 0u);
  EXPECT_EQ(got.damaged + rest.damaged, 0u);
  EXPECT_EQ(got.disordered + rest.disordered, 0u);
  EXPECT_EQ(mine.failure(), "");
  PeerProcess& next = peer();
  next.ask("datagram open");
  next.ask("datagram join " + name + " sender");
  send(next, 1, 5);
  expect_all(mine.receive(5, 5000), 1, 5);
}

TEST_P(Datagrams, OfWhatIsNoGroupAreNotWaitedFor) {
  DatagramSide& mine = side();
  try {
    mine.join(on_shm() ? "" : "10.77.0.1", MulticastRole::kBoth);
    FAIL() << "it is no group";
  } catch (const SetupError& error) {
    EXPECT_EQ(error.cause(), SetupCause::kAddress) << error.what();
  }
}

TEST_P(Datagrams, WakeReceiversThatSleep) {
  const std::string name = group();
  DatagramSide& mine = side();
  mine.join(name, MulticastRole::kSender);
  for (int i = 0; i < 3; ++i) {
    PeerProcess& each = peer();
    each.ask("datagram open channel=1");
    each.ask("datagram join " + name + " receiver");
    each.tell("datagram park 20 2000");
  }
  for (std::uint64_t number = 1; number <= 20; ++number) {
    // Long enough for them to fall asleep, some of the time.
    std::this_thread::sleep_for(std::chrono::milliseconds(scaled_ms(number % 4 == 0 ? 10 : 1)));
    EXPECT_EQ(mine.send(number, 1, kLength), "");
  }
  for (const auto& each : peers_) expect_all(heard_of_words(each->answer()), 1, 20);
}

TEST_P(Datagrams, OfAGroupWithAnotherQKeyThanTheQueuePairAreNotWaitedFor) {
  DatagramSide& mine = side({.queue_pair = {.q_key = 99}});
  try {
    mine.join(group(), MulticastRole::kReceiver);
    FAIL() << "it would hear nothing";
  } catch (const SetupError& error) {
    EXPECT_EQ(error.cause(), SetupCause::kLimit);
    EXPECT_NE(std::string(error.what()).find("Q_Key"), std::string::npos) << error.what();
  }
}

TEST_P(Datagrams, ComeWithAtMostTheBytesThatWereAskedFor) {
  DatagramSide& mine = side({.queue_pair = {.datagram_bytes_max = 100}});
  EXPECT_EQ(mine.queue_pair().datagram_bytes_max(), 100u);
  DatagramSide& other = side();
  mine.reach(other.queue_pair().address());
  EXPECT_EQ(mine.send(1, 1, 100), "");
  expect_all(other.receive(1, 5000), 1, 1);
  EXPECT_EQ(mine.queue_pair().post_send(mine.request(2, 101)), PostStatus::kBadRequest);
  DatagramOptions options{.datagram_bytes_max = device_->info().datagram_bytes_max + 1};
  EXPECT_THROW((void)device_->create_datagram_queue_pair(mine.queue(), options), SetupError);
}

TEST_P(Datagrams, FailTheirQueuePairByABadLocalKey) {
  DatagramSide& mine = side();
  DatagramSide& other = side();
  mine.reach(other.queue_pair().address());
  DatagramRequest request = mine.request(1, kLength);
  request.lkey ^= 0x5555'0000;
  const std::string error = mine.send(request);
  if (on_shm()) {
    EXPECT_EQ(error, to_string(CompletionStatus::kLocalProtection));
    EXPECT_EQ(mine.queue_pair().post_send(mine.request(2, kLength)), PostStatus::kNotReady);
    EXPECT_NE(mine.queue_pair().error_text(), "");
  } else {
    EXPECT_NE(error, "");
  }
  expect_none(other.receive(1, kSilenceMs));
}

}  // namespace
}  // namespace tickpath::rdma::conformance
