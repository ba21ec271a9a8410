// sim as a program: sets everything up, and tells the world about it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/control/program.hpp"
#include "sim/config.hpp"
#include "sim/datapath.hpp"
#include "sim/orders/listener.hpp"
#include "sim/orders/lobby.hpp"
#include "sim/progress.hpp"

namespace tickpath::sim {

class SimApplication final : public control::Application {
 public:
  SimApplication(const SimConfig& config, control::Runtime& runtime);

  control::Datapath& datapath() override { return datapath_; }
  void on_start() override;
  void on_tick() override;
  std::string not_ready_reason() override;
  void describe(control::Json& status) override;
  void begin_stop() override;
  bool drained(std::string& why) override;
  void on_stopped() override;
  void summarize(control::Summary& summary) override;

 private:
  void add_counters();
  void add_line_counters(control::Counters& all);
  void add_latency_counters(control::Counters& all);
  void add_commands();
  void add_state_command(const char* command, const char* help, char state);
  void set_state(const Command& command);  // waits for the datapath; throws Error
  void add_listeners();
  void add_port(const config::Address& address);
  const Lobby& lobby(std::uint32_t session, std::size_t& place) const;
  bool replacing() const noexcept;
  void turn_lobbies();
  Lobby::Slot slot(std::uint32_t session) const;
  void admit(std::uint32_t session, int socket);
  void tell_forgotten();
  std::map<std::string, std::int64_t> fees_by_party() const;
  void add_fees(std::map<std::string, std::uint64_t>& details) const;
  void tell_fees() const;
  void warn_of_open_ports() const;
  void post(Command::Kind kind, std::uint64_t time_ns = 0);
  void add_replay_controls();
  control::Json seek(const control::Json& request);
  control::Json change_speed(const control::Json& request);
  void watch_replay();
  void warn_once();
  void tell_events();
  void write_ledger() const;

  SimConfig config_;
  control::Runtime& runtime_;
  std::uint16_t incarnation_;
  MessageQueue queue_;
  RecordingLoader loader_;
  FeedSender feed_;
  OrderGateway gateway_;
  Matcher matcher_;
  Market market_;
  Replayer replayer_;
  SimDatapath datapath_;
  Progress progress_;
  // Where order sessions are reached, one or more at each.
  struct Port {
    config::Address address;
    std::vector<std::uint32_t> sessions;
    std::unique_ptr<Lobby> lobby;
    std::unique_ptr<Listener> listener;
  };
  std::vector<Port> ports_;
  control::Subscription replacing_;
  std::vector<LogBudget> event_budgets_;       // of each session
  std::vector<std::uint64_t> forgotten_told_;  // likewise
  ReplayState state_told_ = ReplayState::kWaiting;
  bool damage_told_ = false;
  std::array<bool, 4> warned_{};
  std::vector<std::string> broken_;  // what conservation found
};

// The next incarnation of an exchange, kept in a file: ids made with it never return. Throws
// SystemError.
std::uint16_t next_incarnation(const std::string& path);

}  // namespace tickpath::sim
