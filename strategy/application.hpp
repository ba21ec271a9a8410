// The strategy program: loads the plugins, connects to mdh and oeg, reports what goes on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/control/program.hpp"
#include "common/market/market_reader.hpp"
#include "common/rdma/rdma.hpp"
#include "strategy/config.hpp"
#include "strategy/datapath.hpp"
#include "strategy/engine.hpp"
#include "strategy/order_channels.hpp"
#include "strategy/plugin_log.hpp"
#include "strategy/price_history.hpp"
#include "strategy/route_file.hpp"
#include "strategy/shared_values.hpp"

namespace tickpath::strategy {

class StrategyApplication final : public control::Application {
 public:
  // Throws Error when not one plugin can be used; each that cannot is reported and left out.
  StrategyApplication(const StrategyConfig& config, control::Runtime& runtime);
  ~StrategyApplication() override;

  control::Datapath& datapath() override { return *datapath_; }
  void on_tick() override;
  std::string not_ready_reason() override;
  void describe(control::Json& status) override;
  void begin_stop() override;
  bool drained(std::string& why) override;
  void on_stopped() override;
  void summarize(control::Summary& summary) override;

 private:
  // Mdh and oeg of one venue, or of one shard of it.
  struct Stack final : ImageSource {
    bool image(std::uint32_t instrument, wire::BookImage& out) noexcept override {
      return market->image(instrument, out);
    }
    VenueConfig config;
    std::unique_ptr<market::MarketReader> market;
    std::unique_ptr<OrderChannels> orders;
    bool joins_market = false;  // positions are known, or were waited for long enough
  };
  // A [[plugin]] that could not be used, for status.
  struct Rejected {
    std::uint8_t id;
    std::string file;
    std::string error;
  };

  void make_stack(const VenueConfig& config);
  // Its stacks stand one behind the other.
  struct Venue {
    std::size_t first;
    std::size_t count;
  };
  std::vector<Venue> venues() const;
  std::string group(const char* what, const Stack& stack) const;
  void describe_oegs(control::Json& status) const;
  void add_positions(control::Summary& summary, std::size_t first, std::size_t count) const;
  void add_problems(control::Summary& summary) const;
  control::Summary summary_of(const Venue& venue) const;
  void load_plugins();
  void load_plugin(const PluginConfig& plugin);
  std::string incarnation_file(std::uint8_t strategy) const;
  void register_counters();
  void write_plugin_log();
  void write_routes();
  void read_names();

  const StrategyConfig& config_;
  control::Runtime& runtime_;
  std::unique_ptr<rdma::CompletionChannel> channel_;
  std::vector<std::unique_ptr<Stack>> stacks_;
  LogRing log_{1024};
  RouteRing routes_{1024};  // more than a plugin routes between two looks of the control thread
  std::unique_ptr<RouteFile> route_file_;  // null: nothing is recorded
  std::string route_problem_;              // that was logged
  std::unique_ptr<PriceHistories> history_;
  std::unique_ptr<SharedValues> values_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<StrategyDatapath> datapath_;
  std::vector<Rejected> rejected_;
  std::filesystem::file_time_type names_written_{};  // of the file that was read last
  std::uint32_t ticks_ = 0;
  std::uint64_t first_tick_ns_ = 0;
};

}  // namespace tickpath::strategy
