// The configuration of sim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/control/feed_endpoints.hpp"
#include "common/fix/session_config.hpp"
#include "sim/latency/latency_config.hpp"
#include "sim/matching/types.hpp"
#include "sim/orders/cl_ord_ids.hpp"
#include "sim/orders/fees.hpp"
#include "sim/orders/lobby.hpp"
#include "sim/replay/feed_line.hpp"
#include "sim/replay/pace.hpp"
#include "sim/replay/retransmission_server.hpp"

namespace tickpath::sim {

// What replay.speed may be, also where it is changed while the replay runs.
inline constexpr double kSpeedMin = 0.001, kSpeedMax = 1e6;

enum class StartRule : std::uint8_t {
  kCommand,    // at the admin command `start`: when everybody listens
  kImmediate,  // as soon as sim runs
};

struct ReplayConfig {
  std::string file;
  std::string stock;
  StartRule start = StartRule::kCommand;
  PaceOptions pace{.rate = 200'000, .burst = 16};
  std::string from, to;  // times of day, of pace; empty: none
  std::int64_t settle_ns = 1'000'000'000;
  std::uint32_t read_ahead_blocks = 64;
};

struct FeedConfig : control::FeedLines {
  std::uint8_t ttl = 0;
  std::string session;
  std::int64_t heartbeat_ns = 100'000'000;
  std::uint32_t packet_bytes = 1'472;
  std::uint16_t packet_messages = 64;
  std::uint32_t send_buffer_bytes = 4 << 20;
  Impairment a, b;
  std::uint64_t seed = 1;
  std::string retransmission_listen;                      // empty: nobody answers
  RetransmissionOptions retransmission;                   // but for what follows from other keys
  std::string snapshot_listen;                            // empty: nobody answers
  std::string snapshot_username, snapshot_password_file;  // empty: not asked for
};

// One oeg.
struct OrderSessionConfig : fix::SessionConfig {
  OrderSessionConfig() {
    sender = "SIM";
    target = "TICKPATH";
  }
  config::Address listen{"127.0.0.1", 9878};
  bool cancel_on_disconnect = false;
  SecondLogon second_logon = SecondLogon::kRefuse;
  PartyRule party = PartyRule::kSession;
  bool lenient_replace = false;
  std::uint32_t correct_every = 0;
  std::uint32_t misreport_every = 0;
};

struct MatchingConfig : MatcherOptions {
  bool publish = false;
  std::int64_t imbalance_interval_ns = 1'000'000'000;
};

struct SimConfig {
  control::CommonConfig common;
  ReplayConfig replay;
  FeedConfig feed;
  MatchingConfig matching;
  std::vector<OrderSessionConfig> orders;  // empty: one, with the defaults
  LatencyConfig latency;
  RateLimit rate;
  FeeConfig fees;
  std::uint32_t reports_pending_max = 1u << 17;
  std::uint32_t ledger_rows = 1u << 14;
};

config::Schema<SimConfig> sim_schema();

// What a configuration that the schema has accepted says.
std::uint32_t iex_session(const FeedConfig& config, std::uint16_t incarnation);
PaceOptions pace_options(const ReplayConfig& config);

}  // namespace tickpath::sim
