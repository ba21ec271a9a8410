// An eventfd by which one thread of this process wakes another.
#pragma once

namespace tickpath::rdma::detail {

// Wakes a thread that is parked on a completion channel although nothing completed.
class EventWake {
 public:
  EventWake();  // throws SetupError
  ~EventWake();
  EventWake(const EventWake&) = delete;
  EventWake& operator=(const EventWake&) = delete;
  int descriptor() const noexcept { return fd_; }
  void signal() noexcept;
  void acknowledge() noexcept;

 private:
  int fd_;
};

}  // namespace tickpath::rdma::detail
