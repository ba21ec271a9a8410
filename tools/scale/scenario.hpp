// A pipeline on several hosts, as `tickpath scale` computes and simulates it: what comes in, which
// programs there are and on how many hosts, what each step costs. Files of it are in config/scale;
// docs/SCALE.md says where each figure is from.
//
// Programs of one kind are spread evenly over the hosts of their kind, one core each; every host
// has one adapter. A shard is an mdh that publishes a part of the instruments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/wire/shard.hpp"

namespace tickpath::scale {

// How updates come to subscribers. A relay is not built, and is here to be compared.
enum class FanOut : std::uint8_t {
  kWrite,      // mdh WRITEs to each subscriber
  kRelay,      // mdh WRITEs once to each host, where a relay on a core copies. Not built
  kMulticast,  // mdh sends once, the switch copies to each host, its adapter to each there
               // (publish.mode; without what is lost, and READ from mdh again)
};

struct FeedModel {
  double rate = 1e6;                 // messages a second, mean
  std::uint32_t message_bytes = 40;  // in a packet, with its length
  std::uint32_t packet_messages = 8;
  std::uint32_t lines = 1;    // multicast groups, each with instruments of its own
  double busiest_line = 1.0;  // rate of the busiest by the mean of all
  // Bursts come at equal distances, and packets within and between them at random (Poisson).
  double burst_factor = 1.0;  // rate in a burst by the mean
  double burst_share = 0.0;   // of the time; 0: no bursts
  std::int64_t burst_ns = 0;  // length of one
};

struct MdhModel {
  std::uint32_t hosts = 1;
  std::uint32_t shards = 1;
  std::int64_t packet_ns = 0;   // one heard, taken from the kernel
  std::int64_t receive_ns = 0;  // a message heard, of any shard: arbiter, header
  std::int64_t book_ns = 0;     // one of its own: decoded, book changed
  std::int64_t publish_ns = 0;  // one WRITE of an update posted
  double images = 0.0;          // images a message: one is written once for all changes of a burst
  std::int64_t image_ns = 0;    // one filled and stored
  std::int64_t image_write_ns = 0;        // its two WRITEs posted to one subscriber
  std::int64_t store_ns = 0;              // of the price store, a message on the average
  double home_writes = 0.0;               // of the book home, a message
  std::int64_t home_ns = 0;               // one posted
  std::uint64_t buffer_bytes = 8u << 20;  // of the socket: what is beyond it is lost
  std::uint32_t send_depth = 256;  // WRITEs that a connection holds; what is beyond is skipped
};

struct StrategyModel {
  std::uint32_t hosts = 1;
  std::uint32_t programs = 1;    // each is a subscriber
  std::uint32_t strategies = 1;  // in all of them together
  std::uint32_t shards = 0;      // that one program subscribes to; 0: all
  std::int64_t update_ns = 0;    // a program, an update
  std::int64_t callback_ns = 0;  // each of its strategies that has subscribed, an update
  double subscribed = 1.0;       // share of the strategies that have, of an instrument
  double orders = 0.0;           // an update that a program sees
  std::int64_t order_ns = 0;     // one decided and posted
  std::int64_t report_ns = 0;    // one taken
  std::uint64_t ring_slots = 65'536;
};

// Gateways, and beside each oeg its risk where there is one.
struct OegModel {
  std::uint32_t hosts = 1;
  std::uint32_t programs = 0;  // that lead; 0: no orders are simulated
  bool pair = false;           // each has a standby, on the next host
  std::uint32_t shards = 0;    // that one hears, for its price checks; 0: all
  std::int64_t update_ns = 0;
  std::int64_t order_ns = 0;          // taken, checked, journalled, encoded, handed to the kernel
  std::int64_t replicate_ns = 0;      // more, with a standby
  std::uint32_t replicate_bytes = 0;  // an order's, in the standby's log
  double reports = 2.0;               // an order
  std::int64_t report_ns = 0;
  std::int64_t venue_ns = 0;  // from the order on the wire to its first report
  std::uint32_t risks = 0;    // risk programs, on hosts of oegs
  std::int64_t risk_update_ns = 0;
  std::int64_t event_ns = 0;  // one of the drop copy, taken by risk
  std::uint64_t ring_slots = 32'768;
};

struct FabricModel {
  double link_gbps = 100;
  double adapter_rate = 200e6;  // messages a second, each direction
  std::int64_t hop_ns = 800;    // from an adapter to the other host's memory, nothing queued
  FanOut fan_out = FanOut::kWrite;
  std::int64_t relay_ns = 0;  // one update copied by a relay to one subscriber
};

struct RunModel {
  std::uint64_t messages = 100'000;
  std::uint64_t seed = 1;
};

struct Scenario {
  std::string name;
  FeedModel feed;
  MdhModel mdh;
  StrategyModel strategy;
  OegModel oeg;
  FabricModel fabric;
  RunModel run;
};

// What the programs have room for: subscribers of one mdh (common/link).
inline constexpr std::uint32_t kSubscribersMax = 16;
// and parts that a feed may be split into (wire::Shard).
inline constexpr std::uint32_t kShardsMax = wire::kShardsMax;

config::Schema<Scenario> scenario_schema();
// overrides: "key=value". Throws config::ConfigError that names file, line and key.
Scenario load_scenario(const std::string& path, const std::vector<std::string>& overrides = {});

}  // namespace tickpath::scale
