#include "common/rdma/provider/event_wake.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sys/eventfd.h>
#include <unistd.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

EventWake::EventWake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) {
    throw SetupError(SetupCause::kSystem, std::string("eventfd: ") + std::strerror(errno));
  }
}

EventWake::~EventWake() { ::close(fd_); }

void EventWake::signal() noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then it is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof(one));
}

void EventWake::acknowledge() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_, &count, sizeof(count));
}

}  // namespace tickpath::rdma::detail
