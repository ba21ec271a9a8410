// oeg's configuration (config/demo/oeg.toml explains each key in use).
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/market/config.hpp"
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
};

struct OegConfig {
  control::CommonConfig common;

  config::Address venue{"127.0.0.1", 9878};
  std::string sender = "TICKPATH";
  std::string target = "SIM";
  std::string store_file = "{run_dir}/{name}.fixstore";
  std::uint32_t store_messages = 1u << 15;
  std::uint32_t heartbeat_s = 10;
  std::int64_t reconnect_ns = 500'000'000;
  bool reset_on_logon = false;
  fix::Version fix_version = fix::Version::k42;
  bool fix_validate = true;

  market::FeedConfig mdh{.ring_slots = 1u << 15};
  market::HeartbeatConfig heartbeat;
  std::uint32_t instruments_max = 1u << 14;

  std::uint32_t strategies_max = 16;
  std::uint32_t channel_depth = 512;
  std::uint32_t report_queue = 4096;
  bool cancel_orphans = true;
  std::int64_t reconnect_grace_ns = 5'000'000'000;

  std::uint32_t orders_max = 1u << 14;
  std::uint32_t positions_max = 1u << 12;
  bool cancel_on_stop = true;

  std::string journal_file = "{run_dir}/{name}.journal";
  std::uint64_t journal_records = std::uint64_t{1} << 18;
  JournalStart journal_start = JournalStart::kResume;

  bool risk_required = true;
  std::int64_t risk_absent_after_ns = 5'000'000'000;

  LimitsConfig limits;

  GatewayOptions gateway_options() const;
};

config::Schema<OegConfig> oeg_schema();

}  // namespace tickpath::oeg
