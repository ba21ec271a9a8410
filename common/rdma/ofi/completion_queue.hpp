// Completion queue and channel of the ofi provider. libfabric's completions say which requests are
// done; the queue pairs hand them out in order, with what libfabric does not know: refused and
// flushed ones.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "common/base/counter.hpp"
#include "common/rdma/ofi/choice.hpp"
#include "common/rdma/provider/completion_room.hpp"
#include "common/rdma/provider/event_wake.hpp"
#include "common/rdma/provider/poller_gate.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

class OfiCore;
class OfiQueuePair;

// An eventfd that OfiProgress signals. libfabric's own descriptor will not do: it is readable
// whenever anything arrives, also for a WRITE, which completes nothing here.
class OfiChannel final : public CompletionChannel {
 public:
  int file_descriptor() const noexcept override { return wake_->descriptor(); }
  void acknowledge() noexcept override { wake_->acknowledge(); }
  const std::shared_ptr<EventWake>& wake() const noexcept { return wake_; }

 private:
  std::shared_ptr<EventWake> wake_ = std::make_shared<EventWake>();
};

class OfiCompletionQueue final : public CompletionQueue, public CompletionRoom {
 public:
  static constexpr std::size_t kQueuePairsMax = 256;

  OfiCompletionQueue(std::shared_ptr<OfiCore> core, std::uint32_t depth, OfiChannel* channel);
  ~OfiCompletionQueue() override;

  std::size_t poll(std::span<Completion> out) noexcept override;
  void arm(bool solicited_only) noexcept override;

  fid_cq* queue() const noexcept { return queue_.get(); }
  const std::shared_ptr<EventWake>& wake() const noexcept { return wake_; }

  // Control and set-up threads, also while another thread polls. A place for a queue pair, by its
  // tag (request_context). Throws SetupError{kLimit}.
  std::uint64_t reserve();
  // From now on polls find it.
  void attach(OfiQueuePair& queue_pair) noexcept;
  // On return no poll sees the queue pair any more.
  void detach(const OfiQueuePair& queue_pair) noexcept;
  // Runs `function` while nobody sends, executes or hands out, nor calls libfabric for this queue.
  template <class Function>
  void exclusively(Function&& function) {
    const Entered entered(*this);
    function();
  }
  // Polling thread, after a post.
  void look_after(OfiQueuePair& queue_pair) noexcept;
  // Polling thread, while it posts what goes at once: no poll has anything more to do for it.
  bool try_enter_to_post() noexcept { return gate_.try_enter(); }
  void leave_after_post() noexcept { leave_as_poller(); }

  // OfiProgress.
  std::uint64_t polls() const noexcept { return polls_.get(); }  // a sign of life
  bool armed() const noexcept { return armed_.load(std::memory_order_relaxed) != Armed::kNot; }
  int wait_descriptor() const noexcept { return wait_descriptor_; }
  bool may_wait() const noexcept;
  bool favours_poller() const noexcept { return gate_.favoured(); }
  bool attend() noexcept;  // true: again soon, whatever libfabric's descriptor says

 private:
  enum class Armed : std::uint8_t { kNot, kAny, kSolicited };

  void leave() noexcept;
  void leave_as_poller() noexcept;
  void look_at_all() noexcept;

  class Entered {
   public:
    explicit Entered(OfiCompletionQueue& queue) noexcept : queue_(queue) {
      queue_.gate_.enter_beside();
    }
    ~Entered() { queue_.leave(); }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    OfiCompletionQueue& queue_;
  };

  OfiQueuePair* find(const void* context) const noexcept;
  template <class Function>
  void for_each(Function&& function) noexcept;
  void collect(bool polled) noexcept;
  bool read() noexcept;  // true: libfabric's queue was read to its end
  void work(bool drained, bool polled) noexcept;
  bool all_quiet() noexcept;
  bool none_failed() noexcept;
  void collect_error() noexcept;
  std::size_t hand_out(std::span<Completion> out) noexcept;
  std::size_t hand_out_receives(std::span<Completion> out) noexcept;
  bool has_something(bool solicited_only) noexcept;

  Counter polls_;
  // What libfabric completed is looked at by one thread at a time: the polling one, or OfiProgress,
  // or the control thread while it takes a queue pair away. Whoever polls never waits for it.
  PollerGate gate_;
  std::atomic<bool> reading_{false};  // a poll that has not entered looks at queue pairs
  std::atomic<Armed> armed_{Armed::kNot};
  // By who has entered.
  // Also read by a poll that could not enter: see reading_.
  std::array<std::atomic<OfiQueuePair*>, kQueuePairsMax> slots_{};
  std::array<bool, kQueuePairsMax> reserved_{};
  std::atomic<std::size_t> used_{0};  // slots_ that were ever in use
  std::size_t first_ = 0;             // where the next poll starts, for fairness
  bool came_ = false;                 // the last read() took something
  bool quiet_ = false;  // no queue pair has anything to do until libfabric or a post brings it
  std::uint64_t generation_ = 0;

  Fid<fid_cq> queue_;
  int wait_descriptor_ = -1;  // -1: the core provider has none, the clock must do
  std::shared_ptr<EventWake> wake_;
  std::shared_ptr<OfiCore> core_;
};

}  // namespace tickpath::rdma::detail
