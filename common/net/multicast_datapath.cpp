#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <span>

#include "common/net/multicast.hpp"

namespace tickpath::net {

namespace {
bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }
}  // namespace

void UdpMulticastReceiver::take_control_messages(msghdr& header, Datagram& datagram) noexcept {
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_TIMESTAMPNS) {
      timespec time;
      std::memcpy(&time, CMSG_DATA(c), sizeof(time));
      datagram.kernel_realtime_ns = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    } else if (c->cmsg_type == SO_RXQ_OVFL) {
      std::uint32_t overflow;
      std::memcpy(&overflow, CMSG_DATA(c), sizeof(overflow));
      // The kernel counts in 32 bits and wraps.
      dropped_ += static_cast<std::uint32_t>(overflow - last_overflow_);
      last_overflow_ = overflow;
    }
  }
}

IoStatus UdpMulticastReceiver::receive(std::span<std::byte> buffer, Datagram& datagram) noexcept {
  alignas(cmsghdr) std::array<std::byte, 128> control;
  iovec vector{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT);
  if (size < 0) {
    if (would_block(errno) || errno == EINTR) return IoStatus::kWouldBlock;
    last_errno_ = errno;
    return IoStatus::kFailed;
  }
  datagram.bytes = buffer.first(static_cast<std::size_t>(size));
  datagram.kernel_realtime_ns = 0;
  take_control_messages(header, datagram);
  return (header.msg_flags & MSG_TRUNC) != 0 ? IoStatus::kTruncated : IoStatus::kOk;
}

std::size_t ReceiveBatch::receive_from(MemoryLine& line) noexcept {
  for (filled_ = 0; filled_ < headers_.size(); ++filled_) {
    const std::span<const std::byte> from = line.receive();
    if (from.empty()) break;
    const std::span<std::byte> to = std::span(buffers_).subspan(
        filled_ * datagram_bytes_, std::min(from.size(), datagram_bytes_));
    std::memcpy(to.data(), from.data(), to.size());
    msghdr& header = headers_[filled_].msg_hdr;
    header.msg_namelen = 0;
    header.msg_flags = to.size() < from.size() ? MSG_TRUNC : 0;
    datagrams_[filled_] = {to, 0};
  }
  return filled_;
}

std::size_t ReceiveBatch::receive(UdpMulticastReceiver& receiver, IoStatus& status) noexcept {
  if (receiver.line_ != nullptr) [[unlikely]] {
    status = IoStatus::kOk;
    return receive_from(*receiver.line_);
  }
  // The kernel overwrites these lengths and flags with what it used, of as many as it filled.
  for (mmsghdr& entry : std::span(headers_).first(filled_)) {
    entry.msg_hdr.msg_controllen = kControlBytes;
    entry.msg_hdr.msg_namelen = sizeof(sockaddr_in);
    entry.msg_hdr.msg_flags = 0;
  }
  const int count = ::recvmmsg(receiver.descriptor(), headers_.data(),
                               static_cast<unsigned>(headers_.size()), MSG_DONTWAIT, nullptr);
  filled_ = count < 0 ? 0 : static_cast<std::size_t>(count);
  if (count < 0) {
    status = IoStatus::kWouldBlock;
    if (!would_block(errno) && errno != EINTR) {
      receiver.last_errno_ = errno;
      status = IoStatus::kFailed;
    }
    return 0;
  }
  status = IoStatus::kOk;
  for (std::size_t i = 0; i < filled_; ++i) {
    datagrams_[i] = {std::span(buffers_).subspan(i * datagram_bytes_, headers_[i].msg_len), 0};
    receiver.take_control_messages(headers_[i].msg_hdr, datagrams_[i]);
  }
  return filled_;
}

IoStatus UdpMulticastSender::send(std::span<const std::byte> datagram) noexcept {
  if (line_ != nullptr) [[unlikely]]
    return line_->send(datagram) ? IoStatus::kOk : IoStatus::kWouldBlock;
  const ssize_t size =
      ::send(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size >= 0) return IoStatus::kOk;
  if (would_block(errno) || errno == ENOBUFS || errno == EINTR) return IoStatus::kWouldBlock;
  last_errno_ = errno;
  return IoStatus::kFailed;
}

}  // namespace tickpath::net
