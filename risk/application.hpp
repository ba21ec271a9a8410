// The risk program: follows every order and the market, and holds the kill switch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/control/kill_keeper.hpp"
#include "common/control/program.hpp"
#include "common/market/market_reader.hpp"
#include "common/rdma/rdma.hpp"
#include "risk/config.hpp"
#include "risk/datapath.hpp"
#include "risk/gateways.hpp"
#include "risk/monitor.hpp"
#include "risk/notes.hpp"
#include "risk/witness.hpp"

namespace tickpath::risk {

class RiskApplication final : public control::Application {
 public:
  RiskApplication(const RiskConfig& config, control::Runtime& runtime);
  ~RiskApplication() override;

  control::Datapath& datapath() override { return *datapath_; }
  void on_start() override;
  void on_tick() override;
  std::string not_ready_reason() override;
  void describe(control::Json& status) override;
  void begin_stop() override;
  bool drained(std::string& why) override;
  void on_stopped() override { kills_->tick(); }
  void summarize(control::Summary& summary) override;

 private:
  // What there is of each venue. Its index is the monitor's.
  struct Venue {
    market::VenueConfig config;
    std::unique_ptr<market::MarketReader> market;
    std::unique_ptr<Gateways> gateways;
  };

  void make_venue(const market::VenueConfig& config);
  std::string group(const char* what, const Venue& venue) const;
  bool is_active() const noexcept;
  void register_counters();
  void register_venue(const Venue& venue);
  void register_gateway(const Venue& venue, const std::string& prefix, const GatewayLink& link);
  void register_commands();
  control::Json switch_strategy(const control::Json& request, bool kill);
  bool knows(std::uint32_t strategy) const;
  control::Json describe_kills() const;
  control::Json describe_venues() const;
  control::Json describe_gateways(const Venue& venue) const;
  control::Json describe_witness() const;
  std::uint64_t oeg_version() const noexcept;
  bool stands_by() const noexcept { return venues_.front().gateways->stands_by(); }
  control::Summary summary_of(std::size_t venue) const;

  const RiskConfig& config_;
  control::Runtime& runtime_;
  Notes notes_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<control::KillKeeper> kills_;
  std::unique_ptr<rdma::CompletionChannel> channel_;
  std::vector<Venue> venues_;  // one at least
  std::unique_ptr<RiskDatapath> datapath_;
  std::unique_ptr<Witness> witness_;  // nullptr: not enabled
  control::Subscription witness_watch_;
  std::uint64_t commands_ = 0;  // numbers of those given
  std::int64_t active_ms_ = 0;  // CLOCK_REALTIME: when it was the active one last
};

}  // namespace tickpath::risk
