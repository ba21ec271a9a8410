// oeg's configuration (config/demo/oeg.toml explains each key in use).
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/fix/session_config.hpp"
#include "common/market/config.hpp"
#include "oeg/gateway_options.hpp"
#include "oeg/journal.hpp"
#include "oeg/pair_options.hpp"

namespace tickpath::oeg {

struct OegConfig {
  control::CommonConfig common;

  config::Address venue{"127.0.0.1", 9878};
  fix::SessionConfig session{
      .sender = "TICKPATH", .target = "SIM", .store = "{run_dir}/{name}.fixstore"};
  std::uint32_t heartbeat_s = 10;
  bool reset_on_logon = false;
  std::int64_t reconnect_ns = 500'000'000;
  std::int64_t reconnect_max_ns = 30'000'000'000;

  market::FeedConfig mdh{.ring_slots = 1u << 15};
  std::string shard;  // "k/n"; empty: all symbols of the venue
  market::HeartbeatConfig heartbeat;

  std::uint32_t channel_depth = 512;
  std::int64_t reconnect_grace_ns = 5'000'000'000;
  bool cancel_on_stop = true;

  // But for what follows from other keys: gateway_options(), journal_options().
  GatewayOptions gateway{
      .orders_max = 1u << 14,
      .positions_max = 0,  // 0: position_rows()
      .limits = {.order_shares_max = 10'000,
                 .order_value_max = std::uint64_t{1'000'000} * kPriceScale,
                 .collar_basis_points = 500,
                 .reference_basis_points = 1'000,
                 .open_orders_max = 1'000,
                 .position_shares_max = 100'000,
                 .position_value_max = std::uint64_t{10'000'000} * kPriceScale,
                 .gross_value_max = std::uint64_t{100'000'000} * kPriceScale,
                 .total_gross_value_max = std::uint64_t{200'000'000} * kPriceScale,
                 .messages_per_second_max = 100'000},
  };
  JournalOptions journal{.path = "{run_dir}/{name}.journal"};
  std::string exceptions_file = "{run_dir}/{name}.exceptions";

  PairOptions pair;

  bool risk_required = true;
  std::int64_t risk_absent_after_ns = 5'000'000'000;
  std::string kills_file = "{run_dir}/{name}.kills";

  static constexpr std::uint32_t kPositionRowsMax = 1u << 20;
  // As configured; else a row for each strategy in each instrument.
  std::uint32_t position_rows() const noexcept;

  GatewayOptions gateway_options() const;
  JournalOptions journal_options() const;
  fix::SessionOptions session_options() const;  // reads the password; throws Error
  // A hash of venue, shard and FIX session: the two of a pair share it with no other oeg. An oeg
  // that says another one is no half of this pair.
  std::uint64_t pair_id() const;
};

config::Schema<OegConfig> oeg_schema();
// What is allowed and seldom meant.
std::vector<std::string> advice(const OegConfig& config);

}  // namespace tickpath::oeg
