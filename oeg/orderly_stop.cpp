#include "oeg/orderly_stop.hpp"

namespace tickpath::oeg {
namespace {

// What stays of datapath.stop_timeout for logout and the last events once settling is over.
constexpr std::int64_t kLogoutNs = 3'000'000'000;

}  // namespace

const char* OrderlyStop::stage_name() const noexcept {
  switch (stage_.load(std::memory_order_relaxed)) {
    case Stage::kRunning:
      return "running";
    case Stage::kSettling:
      return "waiting for open orders and reports";
    case Stage::kLoggingOut:
      return "logging out";
    case Stage::kClosing:
      return "closing the drop copy";
    default:
      return "stopped";
  }
}

bool OrderlyStop::advance(TscTicks now) noexcept {
  switch (stage_.load(std::memory_order_relaxed)) {
    case Stage::kRunning:
      set_deadline(now, requested_ns_.load(std::memory_order_relaxed));
      gateway_.checks().stop_accepting();
      if (cancels_) gateway_.cancel_everything();
      set_stage(Stage::kSettling);
      return true;
    case Stage::kSettling: {
      const bool open_stays = !cancels_ && gateway_.nothing_unanswered();
      if (!gateway_.settled() && !open_stays && now < deadline_) return false;
      venue_.session().logout("oeg stops");
      set_deadline(now, kLogoutNs);
      set_stage(Stage::kLoggingOut);
      return true;
    }
    case Stage::kLoggingOut:
      if (venue_.session().connected() && now < deadline_) return false;
      drop_copy_.events().close();
      set_deadline(now, kLogoutNs);
      set_stage(Stage::kClosing);
      return true;
    case Stage::kClosing:
      if (!drop_copy_.events().closed() && now < deadline_) return false;
      set_stage(Stage::kStopped);
      return true;
    default:
      return false;
  }
}

}  // namespace tickpath::oeg
