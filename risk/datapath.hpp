// The datapath thread of risk: order events and market in, control block out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

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

// The links of one venue; the references must outlive the datapath.
struct VenueLinks {
  market::MarketReader& market;
  Gateways& gateways;
};

class RiskDatapath final : public control::Datapath {
 public:
  // venues: as the monitor counts them. The references must outlive it; channel may be nullptr (not
  // parking). instruments_max: of each venue.
  RiskDatapath(const std::vector<VenueLinks>& venues, Monitor& monitor,
               std::uint32_t instruments_max, rdma::CompletionChannel* channel);
  RiskDatapath(market::MarketReader& market, Gateways& gateways, Monitor& monitor,
               std::uint32_t instruments_max, rdma::CompletionChannel* channel)
      : RiskDatapath({{market, gateways}}, monitor, instruments_max, channel) {}

  bool turn() noexcept override;
  void arm() noexcept override {
    for (const Venue& venue : venues_) {
      venue.market.arm();
      venue.gateways.arm();
    }
  }
  bool may_sleep() noexcept override {
    return std::ranges::all_of(venues_, [](const Venue& venue) {
      return venue.market.may_sleep() && venue.gateways.may_sleep();
    });
  }
  std::span<const int> wake_descriptors() const noexcept override { return wake_; }
  void woken() noexcept override;
  void on_thread_end() noexcept override;

  // Control thread. False: too many at once.
  bool command(const OperatorCommand& command) noexcept;

  // While the thread does not run.
  const market::Symbols& symbols(std::size_t venue = 0) const noexcept {
    return venues_[venue].symbols;
  }

 private:
  struct Venue {
    market::MarketReader& market;
    Gateways& gateways;
    market::Symbols symbols;
  };
  struct Handler {
    void on_update(const wire::BookUpdate& update) noexcept { monitor.on_update(update, venue); }
    void on_image(const wire::BookImage& image) noexcept { monitor.on_image(image, venue); }
    void on_overrun(std::uint64_t /*lost*/) noexcept {}  // marks come with the images
    void on_directory(const wire::DirectoryEntry& entry) noexcept {
      // One that gives a known id to another symbol is refused, and no price of it comes.
      if (symbols.add(entry)) monitor.on_directory(entry, venue);
    }
    void on_mdh(bool /*alive*/) noexcept {}  // the last marks stay
    Monitor& monitor;
    market::Symbols& symbols;
    std::uint32_t venue;
  };
  bool stands_by() const noexcept { return venues_.front().gateways.stands_by(); }

  Monitor& monitor_;
  std::vector<Venue> venues_;
  rdma::CompletionChannel* channel_;
  clock::TickConverter clock_;
  SpscRing<OperatorCommand> commands_{64};
  net::FileDescriptor command_event_;  // parking only: a kill must not wait for the time-out
  std::array<int, 2> wake_storage_{};
  std::span<const int> wake_;
};

}  // namespace tickpath::risk
