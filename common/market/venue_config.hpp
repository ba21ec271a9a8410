// One [[venue]] of a program that watches several: mdh and oeg of an exchange of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"

namespace tickpath::market {

// Where mdh and oeg of a venue listen, or of one shard of it.
struct StackEndpoints {
  std::string feed;
  std::string feed_b = {};  // the other mdh of a pair; empty: there is none
  std::string gateway = {};
  std::string gateway_standby = {};  // the other oeg of a pair; empty: there is none

  std::array<std::string, 4> all() const { return {feed, feed_b, gateway, gateway_standby}; }
};
// Keys: feed.{endpoint, endpoint_b}, gateway.{endpoint, standby_endpoint}.
config::Schema<StackEndpoints> stack_endpoints_schema();
// What a configuration with [[venue]] has under these keys outside of it would be left unused.
void check_unused(const StackEndpoints& given, const StackEndpoints& untouched,
                  config::Problems& problems);

// Checks that a [[venue]], which stands at `place`, gives them.
void check_given(const StackEndpoints& endpoints, const std::string& place,
                 config::Problems& problems);

struct VenueConfig {
  std::string name;
  std::uint8_t number = 0;  // 0: its place in the list, from 1
  StackEndpoints endpoints;
  std::string place = {};  // "config/venues/risk.toml:20:1"
};

// Keys: name, number, and those of stack_endpoints_schema().
config::Schema<VenueConfig> venue_schema();

// With their numbers.
std::vector<VenueConfig> numbered(std::vector<VenueConfig> venues);

// Names, numbers and endpoints are each one venue's.
void check_venues(const std::vector<VenueConfig>& venues, config::Problems& problems);

}  // namespace tickpath::market
