#include "risk/datapath.hpp"

#include <cerrno>

#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::risk {

RiskDatapath::RiskDatapath(const std::vector<VenueLinks>& venues, Monitor& monitor,
                           std::uint32_t instruments_max, rdma::CompletionChannel* channel)
    : monitor_(monitor), channel_(channel) {
  venues_.reserve(venues.size());
  for (const VenueLinks& links : venues)
    venues_.push_back({links.market, links.gateways, market::Symbols(instruments_max)});
  if (channel_ == nullptr) return;
  command_event_ = net::FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (command_event_.get() < 0) throw SystemError("eventfd", errno);
  wake_storage_ = {channel_->file_descriptor(), command_event_.get()};
  wake_ = wake_storage_;
}

bool RiskDatapath::turn() noexcept {
  const std::uint64_t now_ns = clock_.to_ns(tsc_now());
  monitor_.advance(now_ns);
  // A person's word first: it must not wait behind a burst.
  OperatorCommand command;
  bool any = false;
  while (commands_.try_pop(command)) {
    any = true;
    if (stands_by()) continue;  // it was the active one a moment ago
    if (command.kill) {
      monitor_.kill(command.id, {LimitKind::kOperator, 0, 0}, command.operator_name.data(),
                    command.keep_orders);
    } else {
      monitor_.unkill(command.id);
    }
    monitor_.command_done(command.number);
  }
  // Orders of all venues before any market: sums are of what was traded so far.
  for (Venue& venue : venues_) any |= venue.gateways.turn(now_ns);
  std::uint32_t index = 0;
  for (Venue& venue : venues_) {
    Handler handler{monitor_, venue.symbols, index++};
    any |= venue.market.poll(handler, now_ns) != 0;
  }
  return any;
}

bool RiskDatapath::command(const OperatorCommand& command) noexcept {
  if (!commands_.try_push(command)) return false;
  const std::uint64_t one = 1;
  if (channel_ != nullptr) (void)!::write(command_event_.get(), &one, sizeof(one));
  return true;
}

void RiskDatapath::woken() noexcept {
  if (channel_ == nullptr) return;
  channel_->acknowledge();
  std::uint64_t count = 0;
  (void)!::read(command_event_.get(), &count, sizeof(count));
}

void RiskDatapath::on_thread_end() noexcept {
  for (const Venue& venue : venues_) {
    venue.market.close();
    venue.gateways.close();
  }
}

}  // namespace tickpath::risk
