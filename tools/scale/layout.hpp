// Which program is on which host and hears what, and what a message weighs on a wire: common to the
// table and the simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/scale/scenario.hpp"

namespace tickpath::scale {

// Bytes on an Ethernet wire of one RoCE v2 message in one packet: preamble 8, header 14, IPv4 20,
// UDP 8, base transport header 12, invariant CRC 4, frame check 4, gap 12 (IEEE 802.3; InfiniBand
// Architecture Specification, annex A17). WRITE: 16 more for address, key and length; atomics: 28.
inline constexpr std::uint32_t kRoceBytes = 82;
constexpr std::uint32_t wire_bytes_of_write(std::uint32_t payload) {
  return kRoceBytes + 16 + payload;
}
// With immediate data, which carries credits.
constexpr std::uint32_t wire_bytes_of_send(std::uint32_t payload) {
  return kRoceBytes + 4 + payload;
}
inline constexpr std::uint32_t kWireBytesOfSwap = kRoceBytes + 28;
// Ethernet, IPv4, UDP and MoldUDP64's own header.
inline constexpr std::uint32_t kFeedPacketBytes = 38 + 20 + 8 + 20;

// What travels, as an adapter sees it.
struct Weight {
  std::uint32_t bytes;     // on the wire
  std::uint32_t messages;  // requests
};
extern const Weight kUpdateWeight;       // one ring slot
extern const Weight kImageWeight;        // head, then the whole record
extern const std::uint32_t kImageLines;  // cache lines of one
extern const Weight kHomeWeight;         // a book, and the COMPARE_SWAP that publishes it
extern const Weight kOrderWeight;        // a request or a report
Weight feed_weight(const FeedModel& feed);
Weight replica_weight(const OegModel& oeg);

// An adapter is held by a message for as long as its bytes or its requests take, whichever is more.
double service_seconds(const FabricModel& fabric, Weight weight) noexcept;

enum class Kind : std::uint8_t { kStrategy, kOeg, kStandby, kRisk };

struct Subscriber {
  Kind kind;
  std::uint32_t host;
  std::uint32_t ring_slots;
  double update_seconds;  // of its core, an update
};

// The kinds of places at which messages may queue, in the order in which they pass them.
enum class Link : std::uint8_t {
  kMdhIn,
  kMdhCore,
  kMdhOut,
  kStrategyIn,
  kOegIn,
  kRelayCore,
  kStrategyCore,
  kStrategyOut,
  kOegCore,
  kStandbyCore,
  kRiskCore,
  kOegOut,
};
inline constexpr std::size_t kLinks = 12;
std::string_view name_of(Link link) noexcept;
constexpr bool is_core(Link link) noexcept {
  return link == Link::kMdhCore ||
         (link >= Link::kRelayCore && link != Link::kStrategyOut && link != Link::kOegOut);
}

// One posting of an update: to one subscriber, or to all on a host.
struct Delivery {
  std::uint32_t host;
  std::vector<std::uint32_t> subscribers;
};

// Hosts are numbered: those of mdh's, of strategies, of oegs. The book home is on host 0.
struct Layout {
  explicit Layout(const Scenario& scenario);

  std::uint32_t hosts = 0;
  std::vector<std::uint32_t> host_of_shard;
  std::vector<std::vector<std::uint32_t>> shards_of_line;
  std::vector<double> share_of_line;  // of all messages
  std::vector<Subscriber> subscribers;
  std::vector<std::vector<Delivery>> deliveries;  // of each shard
  // Places of programs among the subscribers.
  std::vector<std::uint32_t> strategies, oegs, standbys, risks;

  // Places are numbered, too: adapters in and out, cores of shards, of subscribers, and of relays.
  std::size_t in(std::uint32_t host) const noexcept { return host; }
  std::size_t out(std::uint32_t host) const noexcept { return hosts + host; }
  std::size_t shard_core(std::uint32_t shard) const noexcept { return 2 * hosts + shard; }
  std::size_t core(std::uint32_t subscriber) const noexcept {
    return 2 * hosts + host_of_shard.size() + subscriber;
  }
  std::size_t relay(std::uint32_t host) const noexcept {
    return core(static_cast<std::uint32_t>(subscribers.size())) + host;
  }
  std::size_t places() const noexcept { return relay(relays ? hosts : 0); }
  Link link_of(std::size_t place) const noexcept;
  std::uint32_t mdh_hosts = 0;
  std::uint32_t strategy_hosts = 0;
  bool relays = false;

  // What mdh's own limit is about: those that one shard writes to.
  std::uint32_t subscribers_of_a_shard = 0;  // most

 private:
  void place_feed(const Scenario& scenario);
  void place_subscribers(const Scenario& scenario);
  void subscribe(const Scenario& scenario);
};

}  // namespace tickpath::scale
