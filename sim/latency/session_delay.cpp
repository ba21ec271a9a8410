#include "sim/latency/session_delay.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/datapath_guard.hpp"
#include "common/fix/codec.hpp"
#include "common/net/loopback_sockets.hpp"

namespace tickpath::sim {
namespace {

// What may wait in one direction: some thousand messages. Beyond it the socket is not read, and
// TCP holds the sender up.
constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kEntries = 1 << 14;
constexpr std::size_t kMessageBytesMax = 32'768;  // as the session's

// MsgType (35) is the third field (FIX 4.2, "Standard message header").
bool is_session_message(std::string_view message) noexcept {
  const std::size_t at = message.substr(0, 64).find("\00135=");
  if (at == std::string_view::npos || at + 5 >= message.size()) return true;
  const std::string_view type = message.substr(at + 4, 2);
  return type[1] == '\001' && std::string_view("012345A").find(type[0]) != std::string_view::npos;
}

bool would_block() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

DelayPipe::DelayPipe(const LatencyOptions& latency, std::uint64_t seed, const RateLimit& rate)
    : latency_(latency, seed), rate_(rate), bytes_(kBytes), entries_(kEntries) {}

void DelayPipe::reset() noexcept {
  begin_ = divided_ = end_ = long_left_ = 0;
  first_ = last_ = 0;
  ended_ = broken_ = false;
}

void DelayPipe::make_room() noexcept {
  if (begin_ == 0 || bytes_.size() - end_ >= kMessageBytesMax) return;
  std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
  divided_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
}

bool DelayPipe::pull(int socket, TscTicks now) noexcept {
  if (divided_ != end_) divide(now);  // there was no room for more entries, perhaps
  if (ended_ || last_ - first_ == entries_.size()) return false;
  make_room();
  if (end_ == bytes_.size()) return false;
  const ssize_t got = ::recv(socket, bytes_.data() + end_, bytes_.size() - end_, MSG_DONTWAIT);
  if (got < 0 && would_block()) return false;
  if (got > 0) {
    end_ += static_cast<std::size_t>(got);
    divide(now);
    return true;
  }
  ended_ = true;
  if (divided_ != end_ && last_ - first_ != entries_.size())
    add(end_ - divided_, now, long_left_ != 0);
  return true;
}

void DelayPipe::divide(TscTicks now) noexcept {
  while (divided_ != end_ && last_ - first_ != entries_.size()) {
    const std::string_view rest(bytes_.data() + divided_, end_ - divided_);
    const bool goes_on = long_left_ != 0;
    std::size_t length = long_left_;
    if (!goes_on) {
      const fix::Frame next = fix::frame(rest, kMessageBytesMax);
      if (next.status == fix::FrameStatus::kIncomplete) return;
      length = next.length;
    }
    const std::size_t here = std::min(length, rest.size());
    long_left_ = length - here;
    add(here, now, goes_on);
  }
}

void DelayPipe::add(std::size_t bytes, TscTicks now, bool goes_on) noexcept {
  TscTicks due = std::max(latency_.due(now), last_due_);
  if (!goes_on && !is_session_message({bytes_.data() + divided_, bytes})) {
    const TscTicks slot = rate_.take(due);
    if (slot != due) rate_delayed_.add();
    due = slot;
  }
  last_due_ = due;
  entries_[last_++ & (entries_.size() - 1)] = {due, static_cast<std::uint32_t>(bytes)};
  divided_ += bytes;
}

bool DelayPipe::push(int socket, TscTicks now) noexcept {
  bool worked = false;
  while (first_ != last_) {
    Entry& next = entries_[first_ & (entries_.size() - 1)];
    if (next.due > now) break;
    const ssize_t sent =
        ::send(socket, bytes_.data() + begin_, next.bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (!would_block()) broken_ = true;
      break;
    }
    worked = true;
    begin_ += static_cast<std::size_t>(sent);
    next.bytes -= static_cast<std::uint32_t>(sent);
    if (next.bytes != 0) break;
    ++first_;
  }
  if (begin_ == end_) begin_ = divided_ = end_ = 0;
  return worked;
}

TscTicks DelayPipe::next_due() const noexcept {
  return first_ == last_ ? TscTicks{~std::uint64_t{0}}
                         : entries_[first_ & (entries_.size() - 1)].due;
}

SessionDelay::SessionDelay(const SessionDelayOptions& options)
    : orders_(options.order_entry, options.seed,
              options.rate.rule == RateRule::kDelay ? options.rate : RateLimit{}),
      reports_(options.reports, options.seed + 1, {}) {}

int SessionDelay::attach(int socket) noexcept {
  const SessionScope once;               // a connection's set-up: some system calls
  net::LoopbackSockets::forget(socket);  // it is read and written here, each turn
  net::FileDescriptor outside(socket);
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  const int on = 1;  // fails on a socketpair, which needs no such option
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  outside_ = std::move(outside);
  inside_ = net::FileDescriptor(ends[0]);
  orders_.reset();
  reports_.reset();
  return ends[1];
}

bool SessionDelay::turn(TscTicks now) noexcept {
  if (outside_.get() < 0) return false;
  bool worked = orders_.pull(outside_.get(), now);
  worked |= orders_.push(inside_.get(), now);
  worked |= reports_.pull(inside_.get(), now);
  worked |= reports_.push(outside_.get(), now);
  if (orders_.finished() || reports_.finished() || orders_.broken() || reports_.broken())
      [[unlikely]] {
    const SessionScope once;
    outside_ = net::FileDescriptor();
    inside_ = net::FileDescriptor();
    return true;
  }
  return worked;
}

TscTicks SessionDelay::next_due() const noexcept {
  return std::min(orders_.next_due(), reports_.next_due());
}

}  // namespace tickpath::sim
