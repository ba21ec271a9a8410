// oeg's configuration (config/demo/oeg.toml explains each key in use).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/fix/session_times.hpp"
#include "common/market/config.hpp"
#include "common/net/peer_rule.hpp"
#include "oeg/gateway.hpp"
#include "oeg/journal.hpp"

namespace tickpath::oeg {

// Limits as a person writes them: money in whole currency units.
struct LimitsConfig {
  std::int64_t order_value_max = 1'000'000;
  std::int64_t position_value_max = 10'000'000;
  std::uint32_t order_shares_max = 10'000;
  std::uint32_t position_shares_max = 100'000;
  std::uint32_t open_orders_max = 1'000;
  std::uint32_t messages_per_second_max = 100'000;
  std::uint32_t collar_basis_points = 500;
  bool market_order_protection = true;
};

struct OegConfig {
  control::CommonConfig common;

  config::Address venue{"127.0.0.1", 9878};
  std::string sender = "TICKPATH";
  std::string target = "SIM";
  std::vector<std::string> venue_peers, venue_users;  // net::PeerRule
  std::string store_file = "{run_dir}/{name}.fixstore";
  std::uint32_t store_messages = 1u << 15;
  std::uint32_t heartbeat_s = 10;
  std::int64_t reconnect_ns = 500'000'000;
  std::int64_t reconnect_max_ns = 30'000'000'000;
  std::uint32_t gap_timeout_s = 10;
  std::int64_t resend_age_max_ns = 1'000'000'000;
  std::string start_time, end_time, start_day, end_day;  // fix::SessionTimes
  bool reset_on_logon = false;
  bool allow_reset = false;
  bool next_expected = false;
  std::string username, password_file;  // empty: none
  fix::Version fix_version = fix::Version::k42;
  bool fix_validate = true;

  market::FeedConfig mdh{.ring_slots = 1u << 15};
  market::HeartbeatConfig heartbeat;
  std::uint32_t instruments_max = 1u << 14;

  std::uint32_t strategies_max = 16;
  std::uint32_t channel_depth = 512;
  std::uint32_t report_queue = 4096;
  std::int64_t unread_max_ns = 1'000'000'000;
  bool cancel_orphans = true;
  std::int64_t reconnect_grace_ns = 5'000'000'000;

  std::uint32_t orders_max = 1u << 14;
  std::uint32_t positions_max = 0;  // 0: position_rows()
  bool cancel_on_stop = true;
  std::uint32_t executions_max = 1u << 18;
  bool stop_on_exception = false;

  std::string journal_file = "{run_dir}/{name}.journal";
  std::uint64_t journal_records = std::uint64_t{1} << 18;
  JournalStart journal_start = JournalStart::kResume;
  std::string exceptions_file = "{run_dir}/{name}.exceptions";
  bool journal_carry_positions = true;
  std::uint32_t journal_archived_max = 16;

  bool risk_required = true;
  std::int64_t risk_absent_after_ns = 5'000'000'000;
  std::string kills_file = "{run_dir}/{name}.kills";

  LimitsConfig limits;

  static constexpr std::uint32_t kPositionRowsMax = 1u << 20;
  // As configured; else a row for each strategy in each instrument.
  std::uint32_t position_rows() const noexcept;

  GatewayOptions gateway_options() const;
  fix::SessionTimes session_times() const;  // throws Error
  net::PeerRule venue_rule() const;         // throws net::NetError
  JournalOptions journal_options() const;
};

config::Schema<OegConfig> oeg_schema();

}  // namespace tickpath::oeg
