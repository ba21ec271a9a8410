// How the router came to a decision: what it saw, what it chose. Written beside the orders, read by
// `tickpath routes`, which does the sums again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/base/spsc_ring.hpp"
#include "common/base/units.hpp"
#include "strategy/plugin.h"
#include "strategy/router.hpp"

namespace tickpath::strategy {

// Why the router could not choose a venue. Values are stored in files.
enum class LeftOut : std::uint8_t {
  kNo = 0,
  kNotListed = 1,
  kNoGateway = 2,    // its oeg is not there
  kNoQuote = 3,      // nothing was heard of the instrument yet
  kOtherSymbol = 4,  // its oeg holds another symbol under the id
  kFeed = 5,         // its book is not good
  kTrading = 6,      // it is halted, or gathers orders for a cross
  // Its oeg refuses every new order: it is not logged on to the venue, reports are missing, risk is
  // not there, the strategy is killed, or there is no room for the journal.
  kNotAccepting = 7,
  kHeld =
      8,  // its oeg refuses new orders in it, until a person has looked at a report of the venue
};

// A venue in a decision, in host order.
//  0 update_tick | 8 image_tick | 16 order_id | 24 maker_fee | 28 taker_fee | 32 shares | 36 price
// 40 status | 44 venue | 45 left_out | 46 place | 47 rests | 48 level_count | 52 reserved | 56
// levels
struct RouteVenue {
  // The feed's sequence numbers of the newest update and image that the book was made of; 0: none.
  std::uint64_t update_tick = 0;
  std::uint64_t image_tick = 0;
  std::uint64_t order_id = 0;  // that it was sent; 0: none
  std::int32_t maker_fee = 0;  // 1/1,000,000 of the currency unit a share
  std::int32_t taker_fee = 0;
  std::uint32_t shares = 0;  // that it was to get; 0: it was not chosen
  std::uint32_t price = 0;   // 1/10,000: the worst at which they were planned; 0: any
  std::int32_t status = 0;   // tickpath_status of the sending
  std::uint8_t venue = 0;    // VenueSpec::number
  LeftOut left_out = LeftOut::kNo;
  std::uint8_t place = 0;  // among the orders, in the order of sending
  std::uint8_t rests = 0;
  std::uint32_t level_count = 0;
  std::uint32_t reserved = 0;
  std::array<RoutedLevel, kRoutedLevels> levels{};  // the side that the order would meet
};
static_assert(std::is_trivially_copyable_v<RouteVenue> && sizeof(RouteVenue) == 144);
static_assert(offsetof(RouteVenue, status) == 40 && offsetof(RouteVenue, levels) == 56);

// A call of `route` that was no mistake of the plugin's: also one that found no venue.
//  0 number | 8 decided | 16 trace_id | 24 written_ns | 32 symbol | 48 shares | 52 limit | 56
//  status
// 60 side | 61 type | 62 time_in_force | 63 post_only | 64 strategy | 65 venue_count | 66 reserved
struct RouteHead {
  std::uint64_t number = 0;       // of this life of the program, from 1
  std::uint64_t decided = 0;      // TSC, before the books were looked at
  std::uint64_t trace_id = 0;     // of the tick whose callback asked, its venue in it; 0: none
  std::int64_t written_ns = 0;    // CLOCK_REALTIME when it went to the file, some ms later
  std::array<char, 16> symbol{};  // of the feed, padded with NULs
  std::uint32_t shares = 0;
  std::uint32_t limit = 0;  // 1/10,000; 0: at any price
  std::int32_t status = 0;  // tickpath_status that the plugin got
  std::uint8_t side = 0;
  std::uint8_t type = 0;           // tickpath_order_type
  std::uint8_t time_in_force = 0;  // tickpath_time_in_force
  std::uint8_t post_only = 0;
  std::uint8_t strategy = 0;
  std::uint8_t venue_count = 0;
  std::uint8_t reserved[6] = {};
};
static_assert(std::is_trivially_copyable_v<RouteHead> && sizeof(RouteHead) == 72);
static_assert(offsetof(RouteHead, symbol) == 32 && offsetof(RouteHead, side) == 60);

struct RouteRecord {
  RouteHead head;
  std::array<RouteVenue, TICKPATH_VENUES_MAX> venues{};  // venue_count of them
};

// From the datapath thread, which never waits, to the control thread, which writes the file.
using RouteRing = SpscRing<RouteRecord>;

}  // namespace tickpath::strategy
