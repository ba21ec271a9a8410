// A device without memory windows: grants are registrations then. What still holds (rights, taking
// back) and what does not (a leaked key works on another connection), and that this is said.
#include <cstring>
#include <future>

#include <gmock/gmock.h>

#include "common/rdma/verbs/device.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::rdma {
namespace {

constexpr AccessFlags kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

// The side that grants, and one that connects to it, in one process.
class Sides {
 public:
  Sides() : owner_(open_device("verbs", "")), caller_(open_device("verbs", "")) {
    dynamic_cast<detail::VerbsDevice&>(*owner_).core()->do_without_windows();
    memory_ = owner_->allocate(4096, kAll, "granted");
    local_ = caller_->allocate(4096, kAll, "local");
    owner_queue_ = owner_->create_queue(64, nullptr);
    caller_queue_ = caller_->create_queue(64, nullptr);
    listener_ = owner_->listen(test_support::verbs_address() + ":0");
  }

  // One more connection: its granting end.
  QueuePair& connect() {
    auto accepted = std::async(std::launch::async, [this] {
      const Grant grant{memory_.get(), kRemoteWrite | kRemoteRead};
      std::unique_ptr<ConnectionRequest> request;
      while (request == nullptr) request = listener_->next();
      return request->accept(*owner_queue_, {}, {}, {&grant, 1}, {});
    });
    callers_.push_back(
        caller_
            ->connect(*caller_queue_,
                      ConnectParameters{.endpoint = listener_->endpoint(), .timeout_ms = 20'000})
            .queue_pair);
    owners_.push_back(accepted.get());
    return *owners_.back();
  }

  CompletionStatus write(std::size_t connection, const RemoteRegion& to, int value) {
    std::memset(local_->data(), value, 8);
    WorkRequest request{.opcode = Opcode::kWrite,
                        .flags = kSignaled,
                        .local_address = local_->data(),
                        .length_bytes = 8,
                        .lkey = local_->lkey(),
                        .rkey = to.rkey,
                        .remote_address = to.address};
    EXPECT_EQ(callers_[connection]->post_send(request), PostStatus::kOk);
    Completion done;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (caller_queue_->poll({&done, 1}) == 0) {
      if (std::chrono::steady_clock::now() > end) return CompletionStatus::kGeneral;
    }
    return done.status;
  }
  RemoteRegion granted(std::size_t connection) { return callers_[connection]->remote_regions()[0]; }
  int first_byte() const { return std::to_integer<int>(memory_->data()[0]); }
  std::vector<std::string> notes() const { return owner_->notes(); }
  const MemoryRegion& memory() const { return *memory_; }

 private:
  std::unique_ptr<Device> owner_, caller_;
  std::unique_ptr<MemoryRegion> memory_, local_;
  std::unique_ptr<CompletionQueue> owner_queue_, caller_queue_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<QueuePair>> owners_, callers_;
};

TEST(WithoutMemoryWindows, RightsAreKeptAndTakenBackAndTheLackIsSaid) {
  try {
    (void)open_device("verbs", "");
  } catch (const SetupError& error) {
    if (error.cause() != SetupCause::kNoDevice) throw;
    GTEST_SKIP() << error.what();
  }
  Sides sides;
  EXPECT_THAT(sides.notes(), ::testing::Contains(::testing::HasSubstr("no memory windows")));
  QueuePair& first = sides.connect();
  sides.connect();
  sides.connect();
  EXPECT_EQ(to_string(sides.write(0, sides.granted(0), 7)), to_string(CompletionStatus::kSuccess));
  // What the note warns of, and windows prevent (Fabric.AStolenKeyOfAnotherConnection...).
  EXPECT_EQ(to_string(sides.write(1, sides.granted(0), 8)), to_string(CompletionStatus::kSuccess));
  EXPECT_EQ(sides.first_byte(), 8);
  EXPECT_EQ(first.revoke(sides.memory()), 1u);
  EXPECT_EQ(first.revoke(sides.memory()), 0u);
  for (const std::size_t connection : {std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(to_string(sides.write(connection, sides.granted(0), 9)),
              to_string(CompletionStatus::kRemoteAccess));
  }
  EXPECT_EQ(sides.first_byte(), 8);
  EXPECT_EQ(to_string(sides.write(2, sides.granted(2), 5)), to_string(CompletionStatus::kSuccess));
  EXPECT_EQ(sides.first_byte(), 5);
}

}  // namespace
}  // namespace tickpath::rdma
