#include "oeg/takeover.hpp"

#include "common/base/names.hpp"

namespace tickpath::oeg {

std::string_view in_words(FenceResult fence) {
  return name_in(fence,
                 {{FenceResult::kNone, "there was no former leader"},
                  {FenceResult::kLogAlone, "fenced by the log: it is never read again"},
                  {FenceResult::kRevoked, "fenced: the former leader's right to WRITE is gone"},
                  {FenceResult::kEndedOnly,
                   "fenced by the log: the device did not take the former leader's right back, "
                   "its connection was ended"}},
                 "");
}

FenceResult Takeover::revoke(link::Connection* former, rdma::MemoryRegion* region) noexcept {
  FenceResult result = FenceResult::kNone;
  if (former != nullptr && region != nullptr) {
    rdma::QueuePair& pair = former->queue_pair();
    const std::size_t revoked = pair.revoke(*region);
    result = !device_revokes_ ? FenceResult::kLogAlone
             : revoked != 0   ? FenceResult::kRevoked
                              : FenceResult::kEndedOnly;
    pair.disconnect();
  }
  fence_result_.store(result, std::memory_order_relaxed);
  return result;
}

void Takeover::follow(bool connected, bool logged_on, std::uint64_t accepted) noexcept {
  if (times_.decided_ns.get() == 0 || times_.first_order_ns.get() != 0) return;
  if (times_.connected_ns.get() == 0) {
    if (!connected) return;
    accepted_before_ = accepted;
    stamp_step(times_.connected_ns);
  }
  if (logged_on && times_.logged_on_ns.get() == 0) stamp_step(times_.logged_on_ns);
  if (accepted != accepted_before_) stamp_step(times_.first_order_ns);
}

}  // namespace tickpath::oeg
