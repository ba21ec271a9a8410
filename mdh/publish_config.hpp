// How mdh's updates and images reach those who subscribe: keys of [publish].
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.hpp"
#include "common/link/multicast.hpp"

namespace tickpath::mdh {

enum class PublishMode : std::uint8_t {
  kWrite,      // a WRITE to each subscriber
  kMulticast,  // a datagram to a group, whoever is in it
};

struct PublishConfig {
  PublishMode mode = PublishMode::kWrite;
  std::string group;  // empty: see group_of()
  std::uint32_t history = 1u << 16;
  std::uint32_t datagram_bytes = 1024;

  std::uint32_t ring_slots_max = 1u << 20;
  std::uint32_t images_per_flush = 64;
  std::int64_t image_delay_ns = 200'000;
};

config::Schema<PublishConfig> publish_schema();

// The group in effect: as configured, or by default a folder in the run directory (shm), or
// 239.255.8.1 (verbs).
std::string group_of(const PublishConfig& publish, const std::string& provider,
                     const std::string& run_dir, const std::string& name);
// What the provider cannot do.
void check_publish(const PublishConfig& publish, const std::string& provider,
                   config::Problems& problems);

}  // namespace tickpath::mdh
