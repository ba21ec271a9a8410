#include "oeg/parking.hpp"

#include <cerrno>
#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::oeg {

Parking::Parking(rdma::Device& device, bool parks)
    : channel_(parks ? device.create_channel() : nullptr) {
  if (!parks) return;
  wake_fd_ = net::FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (wake_fd_.get() < 0) throw SystemError("eventfd", errno);
}

void Parking::wake() noexcept {
  const std::uint64_t one = 1;
  if (wake_fd_.get() >= 0) (void)!::write(wake_fd_.get(), &one, sizeof(one));
}

std::span<const int> Parking::descriptors(int socket) const noexcept {
  if (channel_ == nullptr) return {};
  std::size_t count = 0;
  descriptors_[count++] = channel_->file_descriptor();
  descriptors_[count++] = wake_fd_.get();
  if (socket >= 0) descriptors_[count++] = socket;
  return {descriptors_.data(), count};
}

void Parking::woken() noexcept {
  std::uint64_t count = 0;
  if (wake_fd_.get() >= 0) (void)!::read(wake_fd_.get(), &count, sizeof(count));
  if (channel_ != nullptr) channel_->acknowledge();
}

}  // namespace tickpath::oeg
