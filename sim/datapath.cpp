#include "sim/datapath.hpp"

#include <algorithm>

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"

namespace tickpath::sim {
namespace {

// Below this a sleep costs more than it saves: waking takes tens of microseconds.
constexpr std::uint64_t kShortestSleepNs = 50'000;

net::FileDescriptor require(int descriptor, const char* what) {
  if (descriptor < 0) throw SystemError(what, errno);
  return net::FileDescriptor(descriptor);
}

}  // namespace

SimDatapath::SimDatapath(Replayer& replayer, Matcher& matcher, OrderGateway& gateway,
                         std::uint64_t settle_ns)
    : replayer_(replayer),
      matcher_(matcher),
      gateway_(gateway),
      settle_ticks_(converter_.from_ns(settle_ns)),
      timer_(require(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
                     "cannot create a timer descriptor")),
      wake_(
          require(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "cannot create an event descriptor")) {}

bool SimDatapath::post(const Command& command) noexcept {
  if (!commands_.try_push(command)) return false;
  const std::uint64_t one = 1;
  // Only a parked thread looks at it; a full counter wakes it just as well.
  return ::write(wake_.get(), &one, sizeof one) == sizeof one || errno == EAGAIN;
}

void SimDatapath::obey(const Command& command) noexcept {
  switch (command.kind) {
    case Command::Kind::kStart:
      replayer_.start();
      return;
    case Command::Kind::kHalt:
      replayer_.halt();
      return;
    case Command::Kind::kPause:
      replayer_.pause();
      return;
    case Command::Kind::kResume:
      replayer_.resume();
      return;
    case Command::Kind::kSeek:
      replayer_.seek(command.time_ns);
      return;
    case Command::Kind::kSpeed:
      replayer_.set_speed(command.speed);
      return;
    case Command::Kind::kAttach:
      attach(command.session, command.socket);
      return;
    case Command::Kind::kState:
      replayer_.market().set_trading_state(command.symbol, command.trading_state);
      return;
    case Command::Kind::kStop:
      stopping_ = true;
      replayer_.end();
      close();
      return;
  }
}

void SimDatapath::attach(std::uint32_t session, int socket) noexcept {
  if (!delays_.empty()) socket = delays_[session]->attach(socket);
  if (socket >= 0) gateway_.attach(session, socket);
}

bool SimDatapath::turn_delays() noexcept {
  bool worked = false;
  for (const auto& delay : delays_) worked |= delay->turn(tsc_now());
  return worked;
}

TscTicks SimDatapath::next_due() const noexcept {
  TscTicks due = replayer_.next_due();
  for (const auto& delay : delays_) due = std::min(due, delay->next_due());
  return due;
}

bool SimDatapath::drain_commands() noexcept {
  Command command{};
  int obeyed = 0;
  while (obeyed < kCommandsPerTurn && commands_.try_pop(command)) {
    obey(command);
    ++obeyed;
  }
  return obeyed != 0;
}

// The recording is over; orders that its last messages caused are given the time to arrive.
void SimDatapath::close_when_due() noexcept {
  if (replayer_.state() != ReplayState::kEnded) return;
  const TscTicks now = tsc_now();
  if (ended_at_.value == 0) ended_at_ = now;
  if (now - ended_at_ >= settle_ticks_) close();
}

// The end of the day orders is the last that can be published.
void SimDatapath::close() noexcept {
  matcher_.close();
  replayer_.finish_session();
}

void SimDatapath::finish_when_stopped() noexcept {
  for (std::size_t i = 0; i < gateway_.sessions(); ++i)
    if (gateway_.reports_pending(i) != 0) return;
  if (!logged_out_) {
    logged_out_ = true;
    gateway_.logout("exchange closes");
  }
  for (std::size_t i = 0; i < gateway_.sessions(); ++i)
    if (gateway_.connected(i)) return;
  settled_.set(1);
}

bool SimDatapath::turn() noexcept {
  bool worked = drain_commands();
  worked |= turn_delays();
  worked |= gateway_.poll();
  worked |= gateway_.flush();
  worked |= replayer_.turn();
  close_when_due();
  worked |= gateway_.flush();
  worked |= turn_delays();
  if (stopping_) [[unlikely]]
    finish_when_stopped();
  return worked;
}

bool SimDatapath::may_sleep() noexcept {
  const TscTicks now = tsc_now();
  const TscTicks due = next_due();
  if (due <= now) return false;
  const std::uint64_t sleep_ns = converter_.to_ns(due - now);
  if (sleep_ns < kShortestSleepNs) return false;
  itimerspec timer{};
  timer.it_value.tv_sec = static_cast<time_t>(sleep_ns / 1'000'000'000);
  timer.it_value.tv_nsec = static_cast<long>(sleep_ns % 1'000'000'000);
  (void)::timerfd_settime(timer_.get(), 0, &timer, nullptr);
  descriptors_[0] = timer_.get();
  descriptors_[1] = wake_.get();
  descriptor_count_ = 2;
  if (const int requests = replayer_.wake_descriptor(); requests >= 0)
    descriptors_[descriptor_count_++] = requests;
  for (const auto& delay : delays_)
    if (delay->descriptor() >= 0 && descriptor_count_ < descriptors_.size())
      descriptors_[descriptor_count_++] = delay->descriptor();
  const std::span<const int> sockets = gateway_.descriptors();
  const std::size_t count = std::min(sockets.size(), descriptors_.size() - descriptor_count_);
  std::copy_n(sockets.begin(), count,
              descriptors_.begin() + static_cast<std::ptrdiff_t>(descriptor_count_));
  descriptor_count_ += count;
  return true;
}

std::span<const int> SimDatapath::wake_descriptors() const noexcept {
  return std::span(descriptors_).first(descriptor_count_);
}

void SimDatapath::woken() noexcept {
  std::uint64_t ignored = 0;
  // Level-triggered: what is left unread would wake the next sleep at once.
  (void)!::read(timer_.get(), &ignored, sizeof ignored);
  (void)!::read(wake_.get(), &ignored, sizeof ignored);
}

}  // namespace tickpath::sim
