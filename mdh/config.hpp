// The configuration of mdh; config/demo/mdh.toml shows it in use.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/control/feed_endpoints.hpp"
#include "common/stores/prices/price_store.hpp"
#include "mdh/arbiter.hpp"
#include "mdh/publish_config.hpp"

namespace tickpath::mdh {

struct MdhConfig {
  control::CommonConfig common;

  control::FeedLines feed;
  std::string shard;                  // "k/n"; empty: all symbols
  ArbiterOptions arbiter;             // but for what follows from other keys
  std::string retransmission_server;  // empty: nobody is asked
  std::string snapshot_server;        // empty: nobody is asked
  std::string snapshot_username, snapshot_password_file;
  std::int64_t snapshot_timeout_ns = 5'000'000'000;
  std::int64_t feed_receive_buffer_bytes = std::int64_t{8} << 20;
  std::uint32_t feed_batch = 16;
  std::int64_t feed_silence_timeout_ns = 3'000'000'000;

  std::uint32_t instruments_max = 16'384;
  std::string instruments_file = "{run_dir}/{name}.instruments";
  std::uint32_t instruments_kept_days = 30;
  std::uint32_t orders_max = 1u << 20;
  std::uint32_t levels_max = 1u << 18;

  PublishConfig publish;

  prices::StoreOptions store;

  bool home_keep = false;
  std::uint32_t home_symbols = 8192;
  std::uint32_t home_venues = 2;
  std::uint32_t home_writers = 4;
  std::string home_endpoint;  // empty: this one's own if it keeps the home, else nothing is written
  std::int64_t home_dead_after_ns = 100'000'000;

  // From 0; a pipeline of one venue needs no number.
  // Shared values; 0 keys: none are kept.
  std::uint32_t values_keys = 0;
  std::uint32_t values_writers = 4;
  std::uint32_t home_venue() const noexcept { return common.venue == 0 ? 0 : common.venue - 1u; }
  bool writes_home() const noexcept { return home_keep || !home_endpoint.empty(); }
};

config::Schema<MdhConfig> mdh_schema();

}  // namespace tickpath::mdh
