// oeg's control side: who connects, what is told, how it ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/control/program.hpp"
#include "common/link/connection.hpp"
#include "oeg/config.hpp"
#include "oeg/datapath.hpp"
#include "oeg/venue_connector.hpp"

namespace tickpath::oeg {

class OegApplication final : public control::Application {
 public:
  // Throws Error, rdma::SetupError.
  OegApplication(const OegConfig& config, control::Runtime& runtime);
  ~OegApplication() override;

  control::Datapath& datapath() override { return *datapath_; }
  void on_start() override;
  void on_tick() override;
  std::string not_ready_reason() override;
  void describe(control::Json& status) override;
  void begin_stop() override;
  bool drained(std::string& why) override;
  void on_stopped() override;
  void summarize(control::Summary& summary) override;

 private:
  void define_notes();
  void register_counters();
  void tell_recovery();
  void tell_trouble();
  void accept_all();
  void accept(rdma::ConnectionRequest& request);
  void accept_strategy(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void accept_risk(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void accept_tool(rdma::ConnectionRequest& request);
  void maintain_market();
  std::string symbol(std::uint32_t instrument) const;

  const OegConfig& config_;
  control::Runtime& runtime_;
  std::unique_ptr<OegDatapath> datapath_;
  std::unique_ptr<rdma::Listener> listener_;
  std::unique_ptr<VenueConnector> venue_;
  control::Subscription listener_watch_;
  std::vector<std::unique_ptr<link::Connection>> tools_;
};

}  // namespace tickpath::oeg
