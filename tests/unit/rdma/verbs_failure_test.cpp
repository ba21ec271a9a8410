// What a polling thread does about a failed completion, and what becomes of grants that a device
// cannot take back: without a device.
#include <array>
#include <cerrno>

#include <gtest/gtest.h>
#include <poll.h>

#include "common/rdma/verbs/connection.hpp"
#include "common/rdma/verbs/memory.hpp"

namespace tickpath::rdma::detail {
namespace {

// A connection of a device that is not there: whoever touched the device would crash.
struct Noted {
  alignas(VerbsCore) std::array<std::byte, sizeof(VerbsCore)> nothing{};
  std::shared_ptr<EventWake> wake = std::make_shared<EventWake>();
  VerbsConnection connection{reinterpret_cast<VerbsCore&>(nothing), nullptr, "10.0.0.2"};

  Noted() { connection.bind(reinterpret_cast<ibv_qp*>(nothing.data()), wake); }
  bool woken() const {
    pollfd event{wake->descriptor(), POLLIN, 0};
    return ::poll(&event, 1, 0) == 1;
  }
};

TEST(VerbsFailure, APollingThreadOnlyLeavesWord) {
  Noted noted;
  EXPECT_FALSE(noted.connection.failed());
  noted.connection.note_completion(IBV_WC_RETRY_EXC_ERR, 0x81);
  EXPECT_TRUE(noted.connection.failed());
  EXPECT_EQ(noted.connection.cause(), VerbsCause::kCompletion);
  EXPECT_NE(noted.connection.error_text().find("0x81"), std::string::npos);
  EXPECT_FALSE(noted.woken()) << "a system call";
}

TEST(VerbsFailure, AReasonReplacesTheFlushThatCameFirstAndNothingReplacesAReason) {
  Noted noted;
  noted.connection.note_flushed();
  EXPECT_EQ(noted.connection.cause(), VerbsCause::kFlushed);
  noted.connection.note_completion(IBV_WC_REM_ACCESS_ERR, 0);
  EXPECT_EQ(noted.connection.cause(), VerbsCause::kCompletion);
  const std::string first = noted.connection.error_text();
  noted.connection.note_completion(IBV_WC_RETRY_EXC_ERR, 0);
  noted.connection.note_flushed();
  EXPECT_EQ(noted.connection.error_text(), first);
}

class AnyRegion final : public MemoryRegion {};

// A device whose windows it can let go, or not.
struct Windows {
  explicit Windows(int result) {
    next_result = result;
    context.ops.dealloc_mw = [](ibv_mw*) { return next_result; };
    window.context = &context;
    grants.resize(2);
    for (VerbsGrant& grant : grants) grant.region = &region;
    grants[0].window.reset(&window);
  }
  ~Windows() {
    for (VerbsGrant& grant : grants) (void)grant.window.release();
  }
  static inline int next_result = 0;
  ibv_context context{};
  ibv_mw window{};
  AnyRegion region;
  std::vector<VerbsGrant> grants;  // the second one was taken back before
};

TEST(VerbsFailure, OnlyWhatTheDeviceLetGoCountsAsTakenBack) {
  Windows works(0);
  bool kept = false;
  EXPECT_EQ(revoke_grants(works.grants, works.region, kept), 1u);
  EXPECT_FALSE(kept);
  EXPECT_EQ(revoke_grants(works.grants, works.region, kept), 0u) << "once";
  EXPECT_EQ(revoke_grants(works.grants, AnyRegion(), kept), 0u);

  Windows busy(EBUSY);
  EXPECT_EQ(revoke_grants(busy.grants, busy.region, kept), 0u);
  EXPECT_TRUE(kept);
  EXPECT_FALSE(busy.grants[0].revoked());
}

}  // namespace
}  // namespace tickpath::rdma::detail
