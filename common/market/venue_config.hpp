// One [[venue]] of a program that watches several: mdh and oeg of an exchange of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"

namespace tickpath::market {

struct VenueConfig {
  std::string name;
  std::uint8_t number = 0;  // 0: its place in the list, from 1
  std::string feed_endpoint;
  std::string feed_endpoint_b = {};
  std::string gateway_endpoint = {};
  std::string gateway_standby_endpoint = {};
  std::string place = {};  // "config/venues/risk.toml:20:1"
};

// Keys: name, number, feed.{endpoint, endpoint_b}, gateway.{endpoint, standby_endpoint}.
config::Schema<VenueConfig> venue_schema();

// With their numbers.
std::vector<VenueConfig> numbered(std::vector<VenueConfig> venues);

// Names, numbers and endpoints are each one venue's.
void check_venues(const std::vector<VenueConfig>& venues, config::Problems& problems);

}  // namespace tickpath::market
