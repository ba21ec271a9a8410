// The configuration of sim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/control/feed_protocol.hpp"
#include "common/fix/messages.hpp"
#include "common/fix/session_times.hpp"
#include "common/net/peer_rule.hpp"
#include "sim/latency/latency_config.hpp"
#include "sim/matching/types.hpp"
#include "sim/orders/cl_ord_ids.hpp"
#include "sim/replay/pace.hpp"

namespace tickpath::sim {

enum class StartRule : std::uint8_t {
  kCommand,    // at the admin command `start`: when everybody listens
  kImmediate,  // as soon as sim runs
};

struct ReplayConfig {
  std::string file;
  std::string stock;
  StartRule start = StartRule::kCommand;
  PaceMode pace = PaceMode::kRecorded;
  double speed = 1.0;
  std::int64_t max_idle_ns = 1'000'000'000;
  std::string from;
  std::string to;
  std::uint64_t max_rate = 200'000;
  std::uint32_t burst = 16;
  std::int64_t settle_ns = 1'000'000'000;
  std::uint32_t read_ahead_blocks = 64;
};

// What befalls a line of the feed; see Impairment.
struct LineConfig {
  double loss = 0;
  double loss_burst = 1;
  std::int64_t delay_ns = 0;
  std::int64_t jitter_ns = 0;
};

struct FeedConfig {
  control::FeedProtocol protocol = control::FeedProtocol::kItch50;
  config::Address group{"239.255.7.1", 7701};
  std::string interface = "127.0.0.1";
  std::string source, source_b;  // empty: any port; line A's, its next port
  std::uint8_t ttl = 0;
  std::string session;
  std::int64_t heartbeat_ns = 100'000'000;
  std::uint32_t packet_bytes = 1'472;
  std::uint16_t packet_messages = 64;
  std::uint32_t send_buffer_bytes = 4 << 20;
  std::string group_b;      // empty: one line
  std::string interface_b;  // empty: as interface
  LineConfig a, b;
  std::uint64_t seed = 1;
  std::string retransmission_listen;  // empty: nobody answers
  std::int64_t retransmission_store_bytes = std::int64_t{256} << 20;
  std::uint32_t retransmission_messages = 1u << 22;
  std::uint32_t retransmission_rate = 500'000;
  double retransmission_loss = 0;
  std::string snapshot_listen;                            // empty: nobody answers
  std::string snapshot_username, snapshot_password_file;  // empty: not asked for
};

// One oeg.
struct OrderSessionConfig {
  config::Address listen{"127.0.0.1", 9878};
  std::string sender = "SIM";
  std::string target = "TICKPATH";
  std::string store;
  std::vector<std::string> peers, users;  // net::PeerRule
  fix::Version version = fix::Version::k42;
  bool cancel_on_disconnect = false;
  PartyRule party = PartyRule::kSession;
  bool validate = true;
  bool allow_reset = false;
  bool next_expected = false;
  std::string username;  // empty: none is asked for, as the next
  std::string password_file;
  std::uint32_t sending_time_max_s = 120;  // as QuickFIX's MaxLatency
  std::uint32_t store_messages = 1u << 15;
  std::uint32_t gap_timeout_s = 10;
  std::string start_time, end_time, start_day, end_day;  // fix::SessionTimes
};

struct MatchingConfig {
  HaltRule halted = HaltRule::kReject;
  SelfMatchRule self_match = SelfMatchRule::kCancelNewest;
  std::uint32_t display_shares_min = 100;
  std::uint32_t band_basis_points = 0;
  TickRule ticks = TickRule::kRegNms;
  bool publish = false;
  CrossRule crosses = CrossRule::kRecorded;
  std::int64_t imbalance_interval_ns = 1'000'000'000;
  std::uint32_t recorded_orders_max = 1u << 20;
  std::uint32_t recorded_levels_max = 1u << 18;
  std::uint32_t live_orders_max = 1u << 16;
  std::uint32_t order_ids_max = 1u << 20;
};

struct SimConfig {
  control::CommonConfig common;
  ReplayConfig replay;
  FeedConfig feed;
  MatchingConfig matching;
  std::vector<OrderSessionConfig> orders;  // empty: one, with the defaults
  LatencyConfig latency;
  RateLimit rate;
  std::uint32_t reports_pending_max = 1u << 17;
  std::uint32_t ledger_rows = 1u << 14;
};

config::Schema<SimConfig> sim_schema();

// Of a configuration that the schema has accepted.
net::PeerRule peer_rule(const OrderSessionConfig& session);          // throws net::NetError
fix::SessionTimes session_times(const OrderSessionConfig& session);  // throws Error
std::uint32_t iex_session(const FeedConfig& config, std::uint16_t incarnation);
PaceOptions pace_options(const ReplayConfig& config);

}  // namespace tickpath::sim
