// We speak standard verbs: the provider as the client of rdma-core's own `rping -s`, by that
// program's protocol (rdma-core, librdmacm/examples/rping.c, "rping_rdma_info" and the states of
// rping_test_client()).
//
//   client                                server
//   SEND {its source buffer}        ->    RDMA READ of it
//                                   <-    SEND (16 bytes: go ahead)
//   SEND {its sink buffer}          ->    RDMA WRITE of what it read into it, zero included
//                                   <-    SEND (16 bytes: done)
//
// rping_rdma_info, network byte order, 16 bytes: 0 address | 8 rkey | 12 size
#include <cstring>
#include <thread>

#include <endian.h>
#include <gtest/gtest.h>

#include "common/rdma/verbs/device.hpp"
#include "tests/support/process.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::rdma {
namespace {

struct RpingInfo {
  std::uint64_t address;
  std::uint32_t rkey;
  std::uint32_t size;
};
static_assert(sizeof(RpingInfo) == 16);

constexpr std::uint16_t kPort = 7174;
constexpr std::uint32_t kBufferBytes = 64;  // rping's default: -S 64
constexpr int kPings = 5;

// Where things lie in the client's one region.
constexpr std::size_t kSource = 0;
constexpr std::size_t kSink = 128;
constexpr std::size_t kOut = 256;  // an RpingInfo to send
constexpr std::size_t kIn = 320;   // one that arrived

constexpr std::uint64_t kSendId = 1;
constexpr std::uint64_t kReceiveId = 2;

class RpingClient {
 public:
  explicit RpingClient(Device& device)
      : memory_(device.allocate(4096, kLocalWrite | kRemoteRead | kRemoteWrite, "rping")),
        queue_(device.create_queue(16, nullptr)) {}

  // rping may take its time to listen.
  void connect(Device& device, const std::string& address) {
    const Grant grant{memory_.get(), kRemoteRead | kRemoteWrite};
    const ReceiveRequest receive = receive_request();
    detail::PlainParameters parameters{.address = address,
                                       .port = kPort,
                                       .grants = {&grant, 1},
                                       .initial_receives = {&receive, 1}};
    parameters.timeout_ms = 20'000;  // rping serves one connection: one that is given up ends it
    parameters.options.send_depth = parameters.options.receive_depth = 4;
    for (int attempt = 0;; ++attempt) {
      try {
        connected_ = detail::connect_plain(device, *queue_, parameters);
        return;
      } catch (const SetupError&) {
        if (attempt == 100) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }

  // One round: what rping wrote is what it read.
  void ping(int number) {
    const std::string text = "tickpath-ping-" + std::to_string(number);
    std::memset(at(kSource), 0, kBufferBytes);
    std::memset(at(kSink), 0x55, kBufferBytes);
    std::memcpy(at(kSource), text.data(), text.size());
    advertise(kSource);
    advertise(kSink);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(at(kSink))), text);
    // rping writes the text and its zero, and nothing behind them.
    EXPECT_EQ(at(kSink)[text.size() + 1], std::byte{0x55});
  }

  QueuePair& queue_pair() { return *connected_.queue_pair; }

 private:
  std::byte* at(std::size_t offset) { return memory_->data() + offset; }

  ReceiveRequest receive_request() {
    return {kReceiveId, at(kIn), sizeof(RpingInfo), memory_->lkey()};
  }

  // Tells where a buffer is and waits until rping has done its part with it.
  void advertise(std::size_t offset) {
    const RemoteRegion& region = connected_.granted.at(0);
    const RpingInfo info{htobe64(region.address + offset), htobe32(region.rkey),
                         htobe32(kBufferBytes)};
    std::memcpy(at(kOut), &info, sizeof(info));
    WorkRequest send{.wr_id = kSendId,
                     .opcode = Opcode::kSend,
                     .flags = kSignaled,
                     .local_address = at(kOut),
                     .length_bytes = sizeof(RpingInfo),
                     .lkey = memory_->lkey()};
    ASSERT_EQ(queue_pair().post_send(send), PostStatus::kOk);
    bool sent = false, answered = false;
    while (!sent || !answered) {
      const Completion done = next();
      ASSERT_EQ(to_string(done.status), to_string(CompletionStatus::kSuccess))
          << queue_pair().error_text();
      if (done.wr_id == kSendId) sent = true;
      if (done.wr_id != kReceiveId) continue;
      EXPECT_EQ(done.byte_length, sizeof(RpingInfo));
      answered = true;
      ASSERT_EQ(queue_pair().post_receive(receive_request()), PostStatus::kOk);
    }
  }

  Completion next() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    Completion done;
    while (queue_->poll({&done, 1}) == 0) {
      if (std::chrono::steady_clock::now() < end) continue;
      done.status = CompletionStatus::kGeneral;
      ADD_FAILURE() << "rping does not answer";
      break;
    }
    return done;
  }

  std::unique_ptr<MemoryRegion> memory_;
  std::unique_ptr<CompletionQueue> queue_;
  detail::PlainConnected connected_;
};

std::unique_ptr<Device> verbs_device(std::string& missing) {
  try {
    return open_device("verbs", "");
  } catch (const SetupError& error) {
    if (error.cause() != SetupCause::kNoDevice) throw;
    missing = error.what();
    return nullptr;
  }
}

// TICKPATH_RPING_ADDRESS: somebody else started `rping -s` there (on another machine); else it is
// started here.
TEST(Interop, CompletesAConnectionAndADataExchangeWithRping) {
  std::string missing;
  const std::unique_ptr<Device> device = verbs_device(missing);
  if (device == nullptr) GTEST_SKIP() << missing;
  const char* const elsewhere = std::getenv("TICKPATH_RPING_ADDRESS");
  const std::string address = elsewhere == nullptr ? test_support::verbs_address() : elsewhere;
  std::unique_ptr<tickpath::test_support::Process> server;
  if (elsewhere == nullptr) {
    server = std::make_unique<tickpath::test_support::Process>(std::vector<std::string>{
        "/usr/bin/rping", "-s", "-a", address, "-v", "-C", std::to_string(kPings)});
  }
  RpingClient client(*device);
  client.connect(*device, address);
  for (int number = 0; number < kPings && !HasFailure(); ++number) client.ping(number);
  client.queue_pair().disconnect();
  if (server == nullptr) return;
  const tickpath::test_support::Finished ended = server->wait(std::chrono::seconds(20));
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  for (int number = 0; number < kPings; ++number) {
    EXPECT_NE(ended.output.find("tickpath-ping-" + std::to_string(number)), std::string::npos)
        << "rping saw other bytes:\n"
        << ended.output;
  }
}

}  // namespace
}  // namespace tickpath::rdma
