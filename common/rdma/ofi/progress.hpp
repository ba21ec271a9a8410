// Makes progress where nobody polls. libfabric's core providers of sockets and shared memory move
// data only while somebody calls them: without this a WRITE to a program that is busy elsewhere, or
// parked, would wait for it. One thread a device; it keeps away from queues that their own threads
// poll.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common/rdma/provider/event_wake.hpp"

namespace tickpath::rdma::detail {

class OfiCompletionQueue;

class OfiProgress {
 public:
  // Throws SetupError. on_look: whenever this thread looks, on it.
  explicit OfiProgress(std::function<void()> on_look);
  ~OfiProgress();
  OfiProgress(const OfiProgress&) = delete;
  OfiProgress& operator=(const OfiProgress&) = delete;

  // Ends the thread; nobody is helped any more. Once.
  void stop();
  // Control thread. On return from remove() the queue is not looked at any more.
  void add(OfiCompletionQueue& queue);
  void remove(OfiCompletionQueue& queue) noexcept;
  // Control thread. On return whoever was executing or collecting on any queue has left it once.
  void pass() noexcept;
  // A thread that polls `own` looks after one of the other queues, if nobody has polled that for a
  // while: a program that polls one of them is asked on the others, too. Never waits.
  void help(const OfiCompletionQueue& own) noexcept;
  // A thread is about to sleep: its queue needs attention at once. Any thread; a system call.
  void kick() noexcept { kick_.signal(); }

 private:
  struct Watched {
    OfiCompletionQueue* queue;
    std::uint64_t polls;  // of its own thread, when last seen
    bool waited_for;      // its descriptor is in epoll_
  };

  void run() noexcept;
  int look() noexcept;
  void wait_for(Watched& each, bool wanted) noexcept;

  std::mutex mutex_;
  std::vector<Watched> watched_;
  std::size_t next_helped_ = 0;
  bool stop_ = false;
  std::function<void()> on_look_;
  EventWake kick_;
  int epoll_;
  std::thread thread_;
};

}  // namespace tickpath::rdma::detail
