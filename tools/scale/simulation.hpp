// The fan-out, message by message: a discrete-event simulation with a queue at every adapter and
// core. It shares the layout with the table (analysis.hpp), and nothing else: the one counts what a
// place has to do in a second, the other lets messages pass.
//
// What is in it: packets in mdh's socket buffer, which loses what it has no room for; WRITEs on
// connections, which skip what is beyond their depth; rings, which overrun a reader that falls
// behind by their length; orders, replication, reports, drop copy. What is not: switches (a
// constant hop), PCIe, acknowledgements (they go the other way, and are shorter), retransmission,
// scheduling and caches: a core takes as long for a message in a queue of thousands as for the
// first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tools/scale/arrivals.hpp"
#include "tools/scale/layout.hpp"
#include "tools/scale/queueing.hpp"

namespace tickpath::scale {

// The load of the busiest place of its kind.
struct SimulatedLink {
  Link link;
  double utilisation = 0;  // work that came while the feed did, by that time: may exceed 1
  double mean = 0;         // the same of all places of its kind on the average
  // The most at any place of its kind.
  std::uint64_t queue_max = 0;  // packets of mdh's core, requests of an adapter, messages of a core
  Picoseconds wait_max = 0;
};

// Every message is in one of these: tests add them up.
struct Flow {
  std::uint64_t messages = 0;  // that the feed brought
  std::uint64_t lost = 0;      // of them, mdh's socket buffer was full
  std::uint64_t posted = 0;    // WRITEs of updates: messages that were not lost, by deliveries
  std::uint64_t skipped = 0;   // of them, the connection was full
  std::uint64_t arrived = 0;   // updates in the ring of a subscriber
  std::uint64_t overrun = 0;   // of them, overwritten before they were read
  std::uint64_t taken = 0;     // by a subscriber's core
  std::uint64_t images_skipped = 0;  // put off, for the same reason
  std::uint64_t orders = 0;          // decided
  std::uint64_t sent = 0;            // handed to the kernel
  std::uint64_t reports = 0;         // taken by strategies
  std::uint64_t events = 0;          // of the drop copy, taken by risk
  std::uint64_t events_expected = 0;
  std::uint64_t reports_expected = 0;
};

struct SimulationResult {
  std::vector<SimulatedLink> links;  // as analyse() has them
  DelayHistogram feed_to_strategy;   // from a packet's last bit at mdh's adapter to the callback
  DelayHistogram order_to_wire;      // from the decision to the order handed to the kernel
  DelayHistogram feed_to_wire;       // both together, of updates that led to an order
  Flow flow;
  double seconds = 0;  // from the first packet until the feed stops
  double rate = 0;     // messages a second that came
  // Slots of a ring that were unread at one time, most, by the slots that can be.
  double ring_used_max = 0;
  double buffer_used_max = 0;  // likewise of a socket buffer
  std::uint64_t events = 0;    // of the simulation
};

// Bounded by the scenario's messages. arrivals: nullptr: the scenario's own, of its seed.
SimulationResult simulate(const Scenario& scenario, std::unique_ptr<Arrivals> arrivals = nullptr);

}  // namespace tickpath::scale
