// The configuration of mdh; config/demo/mdh.toml shows it in use.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/control/feed_protocol.hpp"

namespace tickpath::mdh {

struct MdhConfig {
  control::CommonConfig common;

  control::FeedProtocol feed_protocol = control::FeedProtocol::kItch50;
  config::Address feed_group{"239.255.7.1", 7701};
  std::string feed_interface = "127.0.0.1";
  std::string feed_source;       // empty: whoever sends first
  std::string feed_source_b;     // empty: feed_source, its next port
  std::string feed_group_b;      // empty: there is one line
  std::string feed_interface_b;  // empty: as feed_interface
  std::int64_t feed_gap_wait_ns = 1'000'000;
  std::uint32_t feed_held_packets = 16'384;
  std::string retransmission_server;  // empty: nobody is asked
  std::int64_t retransmission_timeout_ns = 20'000'000;
  std::uint32_t retransmission_attempts = 50;
  std::string snapshot_server;  // empty: nobody is asked
  std::string snapshot_username, snapshot_password_file;
  std::uint64_t snapshot_gap_messages = 100'000;
  std::int64_t snapshot_timeout_ns = 5'000'000'000;
  std::int64_t snapshot_retry_ns = 1'000'000'000;
  std::uint32_t snapshot_attempts = 10;
  std::int64_t feed_receive_buffer_bytes = std::int64_t{8} << 20;
  std::uint32_t feed_datagram_bytes = 2048;
  std::uint32_t feed_batch = 16;
  std::int64_t feed_silence_timeout_ns = 3'000'000'000;

  std::uint32_t instruments_max = 16'384;
  std::string instruments_file = "{run_dir}/{name}.instruments";
  std::uint32_t instruments_kept_days = 30;
  std::uint32_t orders_max = 1u << 20;
  std::uint32_t levels_max = 1u << 18;

  std::uint32_t publish_ring_slots_max = 1u << 20;
  std::uint32_t publish_images_per_flush = 64;
  std::int64_t publish_image_delay_ns = 200'000;
};

config::Schema<MdhConfig> mdh_schema();

}  // namespace tickpath::mdh
