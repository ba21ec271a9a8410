#include "risk/datapath.hpp"

namespace tickpath::risk {

RiskDatapath::RiskDatapath(market::MarketReader& market, GatewayLink& gateway, Monitor& monitor,
                           std::uint32_t instruments_max, rdma::CompletionChannel* channel)
    : market_(market),
      gateway_(gateway),
      monitor_(monitor),
      symbols_(instruments_max),
      channel_(channel) {
  if (channel_ == nullptr) return;
  wake_storage_[0] = channel_->file_descriptor();
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
    if (command.kill) {
      monitor_.kill(command.id, {LimitKind::kOperator, 0, 0}, command.operator_name.data(),
                    command.keep_orders);
    } else {
      monitor_.unkill(command.id);
    }
    monitor_.command_done(command.number);
  }
  any |= gateway_.turn(now_ns);
  Handler handler{*this};
  any |= market_.poll(handler, now_ns) != 0;
  return any;
}

bool RiskDatapath::arm() noexcept {
  const bool market_armed = market_.arm();  // both, whatever the first says
  const bool others_armed = gateway_.arm();
  return !turn() && market_armed && others_armed;
}

void RiskDatapath::woken() noexcept {
  if (channel_ != nullptr) channel_->acknowledge();
}

void RiskDatapath::on_thread_end() noexcept {
  market_.close();
  gateway_.close();
}

}  // namespace tickpath::risk
