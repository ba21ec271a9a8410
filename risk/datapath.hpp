// The datapath thread of risk: order events and market in, control block out.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/base/spsc_ring.hpp"
#include "common/clock/clock.hpp"
#include "common/control/datapath.hpp"
#include "common/market/market_reader.hpp"
#include "common/market/symbols.hpp"
#include "common/net/file_descriptor.hpp"
#include "risk/gateways.hpp"
#include "risk/monitor.hpp"

namespace tickpath::risk {

// What a person asked for.
struct OperatorCommand {
  bool kill;             // false: unkill
  std::uint32_t id;      // a strategy, or Monitor::kAll
  bool keep_orders;      // kill: what is open stays
  std::uint64_t number;  // from 1, shown as done when it is
  std::array<char, sizeof(wire::KillRecord::operator_name)> operator_name;  // NUL-padded
};

class RiskDatapath final : public control::Datapath {
 public:
  // The references must outlive it; channel may be nullptr (not parking).
  RiskDatapath(market::MarketReader& market, Gateways& gateways, Monitor& monitor,
               std::uint32_t instruments_max, rdma::CompletionChannel* channel);

  bool turn() noexcept override;
  void arm() noexcept override {
    market_.arm();
    gateways_.arm();
  }
  bool may_sleep() noexcept override { return market_.may_sleep() && gateways_.may_sleep(); }
  std::span<const int> wake_descriptors() const noexcept override { return wake_; }
  void woken() noexcept override;
  void on_thread_end() noexcept override;

  // Control thread. False: too many at once.
  bool command(const OperatorCommand& command) noexcept;

  // While the thread does not run.
  const market::Symbols& symbols() const noexcept { return symbols_; }

 private:
  struct Handler {
    void on_update(const wire::BookUpdate& update) noexcept { self.monitor_.on_update(update); }
    void on_image(const wire::BookImage& image) noexcept { self.monitor_.on_image(image); }
    void on_lapped(std::uint64_t /*lost*/) noexcept {}  // marks come with the images
    void on_directory(const wire::DirectoryEntry& entry) noexcept {
      // One that gives a known id to another symbol is refused, and no price of it comes.
      if (self.symbols_.add(entry)) self.monitor_.on_directory(entry);
    }
    void on_mdh(bool /*alive*/) noexcept {}  // the last marks stay
    RiskDatapath& self;
  };

  market::MarketReader& market_;
  Gateways& gateways_;
  Monitor& monitor_;
  market::Symbols symbols_;
  rdma::CompletionChannel* channel_;
  clock::TickConverter clock_;
  SpscRing<OperatorCommand> commands_{64};
  net::FileDescriptor command_event_;  // parking only: a kill must not wait for the time-out
  std::array<int, 2> wake_storage_{};
  std::span<const int> wake_;
};

}  // namespace tickpath::risk
