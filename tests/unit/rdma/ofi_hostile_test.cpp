// A peer of the ofi provider that does not play by the rules: what it sends changes no byte that it
// was not granted, and ends its own connection.
#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rdma/fi_endpoint.h>

#include "common/rdma/ofi/queue_pair.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::rdma::detail {

// What a library of the peer's own making could do: any message, on a connection that it has.
class OfiHostilePeer {
 public:
  explicit OfiHostilePeer(QueuePair& queue_pair)
      : queue_pair_(dynamic_cast<OfiQueuePair&>(queue_pair)) {}

  bool send(const OfiWireHeader& header, std::span<const std::byte> bytes) {
    bool gone = false;
    queue_pair_.queue_->exclusively([&] {
      if (!queue_pair_.room_to_send()) return;
      if (!bytes.empty())
        std::memcpy(queue_pair_.message_buffer() + sizeof(header), bytes.data(), bytes.size());
      queue_pair_.executed_ = header.executed;
      gone = queue_pair_.send_message(header, static_cast<std::uint32_t>(bytes.size()));
      ++queue_pair_.messages_;  // so that what it is answered is no violation of its own
    });
    return gone;
  }
  // A message without a header, and the word beside it.
  bool send_word(std::uint64_t word, std::span<const std::byte> bytes) {
    bool gone = false;
    queue_pair_.queue_->exclusively([&] {
      gone = ::fi_injectdata(queue_pair_.endpoint_.get(), bytes.data(), bytes.size(), word,
                             queue_pair_.peer_address_) == 0;
      ++queue_pair_.messages_;
    });
    return gone;
  }
  std::uint32_t session() const { return queue_pair_.peer_session_; }
  std::uint32_t executed() const { return queue_pair_.executed_; }

 private:
  OfiQueuePair& queue_pair_;
};

namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kGranted = 64;  // of each region: nothing beyond may change

class OfiHostile : public testing::Test {
 protected:
  explicit OfiHostile(const std::string& core = "tcp") {
    device_ = open_device("ofi", core);
    for (auto* each : {&victim_, &attacker_}) {
      each->queue = device_->create_queue(256, nullptr);
      each->writable = device_->allocate(kBytes, kLocalWrite | kRemoteWrite, "writable");
      each->readable = device_->allocate(kBytes, kLocalWrite | kRemoteRead, "readable");
      each->secret = device_->allocate(kBytes, kLocalWrite | kRemoteWrite, "secret");
    }
    listener_ = device_->listen("127.0.0.1:0");
    connect();
  }

  void connect() {
    attacker_.queue_pair.reset();
    victim_.queue_pair.reset();
    std::memset(victim_.secret->data(), 0x5a, kBytes);
    const Grant grants[] = {{victim_.writable.get(), kRemoteWrite},
                            {victim_.readable.get(), kRemoteRead}};
    std::thread accepting([&] {
      std::unique_ptr<ConnectionRequest> request;
      while (request == nullptr) {
        request = listener_->next();
        std::this_thread::yield();
      }
      victim_.queue_pair = request->accept(*victim_.queue, {}, {}, grants, {});
    });
    ConnectParameters parameters{.endpoint = listener_->endpoint()};
    attacker_.queue_pair = device_->connect(*attacker_.queue, parameters).queue_pair;
    accepting.join();
  }

  // The victim looks, and the attacker takes what it is answered.
  void poll() {
    Completion out[16];
    (void)victim_.queue->poll(out);
    (void)attacker_.queue->poll(out);
  }
  bool victim_fails() {
    return test_support::turn_until(
        [&] { return victim_.queue_pair->state() == QueuePairState::kError; }, [&] { poll(); });
  }
  bool secret_untouched() const {
    const std::byte* const bytes = victim_.secret->data();
    return std::all_of(bytes, bytes + kBytes, [](std::byte b) { return b == std::byte{0x5a}; });
  }

  struct Side {
    std::unique_ptr<CompletionQueue> queue;
    std::unique_ptr<MemoryRegion> writable, readable, secret;
    std::unique_ptr<QueuePair> queue_pair;
  };
  std::unique_ptr<Device> device_;
  Side victim_, attacker_;
  std::unique_ptr<Listener> listener_;
};

struct Attack {
  const char* what;
  std::function<void(OfiWireHeader&)> change;
};

TEST_F(OfiHostile, EveryMessageThatNoPeerSendsEndsTheConnectionAndChangesNothing) {
  const std::vector<Attack> attacks = {
      {"kind", [](OfiWireHeader& h) { h.kind = static_cast<OfiKind>(99); }},
      {"no kind", [](OfiWireHeader& h) { h.kind = OfiKind::kNone; }},
      {"flags", [](OfiWireHeader& h) { h.flags = 0x80; }},
      {"not the last", [](OfiWireHeader& h) { h.flags = 0; }},
      {"longer than its bytes", [](OfiWireHeader& h) { h.length = 4096; }},
      {"shorter than its bytes", [](OfiWireHeader& h) { h.length = 1; }},
      {"part beyond the whole", [](OfiWireHeader& h) { h.fetch = 100; }},
      {"executed what was never asked", [](OfiWireHeader& h) { h.executed = 5; }},
      {"executed less than before", [](OfiWireHeader& h) { h.executed = ~0u; }},
      {"fetched what nobody asked for",
       [](OfiWireHeader& h) {
         h.kind = OfiKind::kFetched;
         h.address = 0;
       }},
      {"half an atomic", [](OfiWireHeader& h) { h.kind = OfiKind::kCompareSwap; }},
      {"key of nobody", [](OfiWireHeader& h) { h.rkey ^= 0xabc0; }},
      {"key 0", [](OfiWireHeader& h) { h.rkey = 0; }},
      {"before the region", [](OfiWireHeader& h) { h.address -= 8; }},
      {"beyond the region", [](OfiWireHeader& h) { h.address += kBytes; }},
      {"whole beyond the region",
       [](OfiWireHeader& h) {
         h.total_length = 2 * kBytes;
         h.flags = 0;
       }},
      {"address that wraps", [](OfiWireHeader& h) { h.address = ~std::uint64_t{7}; }},
      {"a right that it lacks", [](OfiWireHeader& h) { h.rkey = (h.rkey & ~15u) | 1; }},
  };
  for (const Attack& attack : attacks) {
    SCOPED_TRACE(attack.what);
    connect();
    const RemoteRegion target = attacker_.queue_pair->remote_regions()[0];
    OfiHostilePeer peer(*attacker_.queue_pair);
    OfiWireHeader header;
    header.kind = OfiKind::kWrite;
    header.flags = wire_flags::kLast;
    header.length = header.total_length = 8;
    header.rkey = target.rkey;
    header.address = target.address;
    attack.change(header);
    const std::vector<std::byte> bytes(8, std::byte{0x11});
    std::memset(victim_.writable->data(), 0, kBytes);
    ASSERT_TRUE(peer.send(header, bytes));
    EXPECT_TRUE(victim_fails());
    EXPECT_NE(victim_.queue_pair->error_text(), "");
    EXPECT_TRUE(secret_untouched());
    EXPECT_EQ(victim_.writable->data()[0], std::byte{0});
  }
}

// The same where the header is a word beside the completion.
TEST_F(OfiHostile, EveryWordThatNoPeerSendsEndsTheConnectionAndChangesNothing) {
  const std::vector<Attack> attacks = {
      {"kind", [](OfiWireHeader& h) { h.kind = static_cast<OfiKind>(99); }},
      {"no kind", [](OfiWireHeader& h) { h.kind = OfiKind::kNone; }},
      {"a WRITE, which needs a header", [](OfiWireHeader& h) { h.kind = OfiKind::kWrite; }},
      {"an answer", [](OfiWireHeader& h) { h.kind = OfiKind::kExecuted; }},
      {"flags", [](OfiWireHeader& h) { h.flags |= 0x80; }},
      {"not the last", [](OfiWireHeader& h) { h.flags = 0; }},
      {"immediate data", [](OfiWireHeader& h) { h.flags |= wire_flags::kImmediate; }},
      {"executed what was never asked", [](OfiWireHeader& h) { h.executed = 5; }},
      {"executed less than before", [](OfiWireHeader& h) { h.executed = ~0u; }},
      {"another session", [](OfiWireHeader& h) { h.session ^= 1; }},
  };
  for (const Attack& attack : attacks) {
    SCOPED_TRACE(attack.what);
    connect();
    OfiHostilePeer peer(*attacker_.queue_pair);
    OfiWireHeader header;
    header.kind = OfiKind::kSend;
    header.flags = wire_flags::kLast;
    header.session = peer.session();
    attack.change(header);
    const std::vector<std::byte> bytes(48, std::byte{0x11});
    ASSERT_TRUE(peer.send_word(header_word::of(header), bytes));
    EXPECT_TRUE(victim_fails());
    EXPECT_NE(victim_.queue_pair->error_text(), "");
    EXPECT_TRUE(secret_untouched());
  }
}

// Where anybody may send to an endpoint, who is not the peer ends nothing: it is dropped, and
// noted.
class OfiStranger : public OfiHostile {
 protected:
  OfiStranger() : OfiHostile("shm") {}
};

TEST_F(OfiStranger, IsDroppedAndNoted) {
  OfiHostilePeer stranger(*attacker_.queue_pair);
  OfiWireHeader header;
  header.kind = OfiKind::kSend;
  header.flags = wire_flags::kLast;
  header.session = stranger.session() ^ 1;
  const std::vector<std::byte> bytes(48, std::byte{0x11});
  ASSERT_TRUE(stranger.send_word(header_word::of(header), bytes));
  const auto noted = [&] {
    const std::vector<std::string> notes = device_->notes();
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return note.find("messages of others than the peer") != std::string::npos;
    });
  };
  EXPECT_TRUE(test_support::turn_until(noted, [&] { poll(); }));
  EXPECT_EQ(victim_.queue_pair->state(), QueuePairState::kReadyToSend);
  EXPECT_EQ(OfiHostilePeer(*victim_.queue_pair).executed(), 0u);
}

// Messages at random, near what is right: whatever the victim makes of them, it touches what was
// granted only, and goes on or ends the connection. Sanitizers see the rest.
TEST_F(OfiHostile, MessagesAtRandomTouchNothingThatWasNotGranted) {
  std::mt19937_64 random(4711);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  int ended = 0;
  for (int round = 0; round < 30; ++round) {
    connect();
    const auto regions = attacker_.queue_pair->remote_regions();
    OfiHostilePeer peer(*attacker_.queue_pair);
    for (int i = 0; i < 40 && attacker_.queue_pair->state() != QueuePairState::kError; ++i) {
      const RemoteRegion& region = regions[below(2)];
      OfiWireHeader header;
      std::vector<std::byte> bytes(below(4) == 0 ? below(kOfiPartBytes) : below(24));
      header.kind = static_cast<OfiKind>(below(10));
      header.flags = static_cast<std::uint8_t>(below(8) == 0 ? random() : wire_flags::kLast);
      header.length = static_cast<std::uint32_t>(below(8) == 0 ? random() : bytes.size());
      header.total_length = static_cast<std::uint32_t>(below(8) == 0 ? random() : bytes.size());
      header.rkey = below(8) == 0 ? static_cast<std::uint32_t>(random()) : region.rkey;
      header.address = region.address + below(2) * below(kBytes);
      if (below(8) == 0) header.address = random();
      header.fetch = below(4) == 0 ? static_cast<std::uint32_t>(below(64)) : 0;
      if (below(4) == 0 && bytes.size() <= 64) {
        header.session = peer.session() ^ static_cast<std::uint32_t>(below(16) == 0);
        peer.send_word(below(4) == 0 ? random() : header_word::of(header), bytes);
      } else {
        peer.send(header, bytes);
      }
      poll();
    }
    for (int i = 0; i < 100; ++i) poll();
    ended += victim_.queue_pair->state() == QueuePairState::kError ? 1 : 0;
    ASSERT_TRUE(secret_untouched());
  }
  EXPECT_GT(ended, 15) << "most of it is nothing that a peer sends";
  connect();  // and who behaves is served
  const RemoteRegion target = attacker_.queue_pair->remote_regions()[0];
  const std::uint64_t value = 7;
  WorkRequest write{.wr_id = 1,
                    .opcode = Opcode::kWrite,
                    .flags = kSignaled | kInline,
                    .local_address = &value,
                    .length_bytes = 8,
                    .rkey = target.rkey,
                    .remote_address = target.address};
  ASSERT_EQ(attacker_.queue_pair->post_send(write), PostStatus::kOk);
  Completion done[1], ignored[4];
  ASSERT_TRUE(test_support::turn_until([&] { return attacker_.queue->poll(done) == 1; },
                                       [&] { (void)victim_.queue->poll(ignored); }));
  EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(victim_.writable->data()[0], std::byte{7});
}

}  // namespace
}  // namespace tickpath::rdma::detail
