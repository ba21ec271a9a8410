// One run of the simulation: two places, their witness, a venue and a source of orders. The faults
// come from a seed. Each round checks what must always hold. Once the faults have stopped, one
// place leads within a bound, and the other one stands by. Then orders are accepted, and the
// accounts agree.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/fault/simulation/place.hpp"

namespace tickpath::simulation {

// What may happen in a run; some of it, so that rare things meet.
struct Faults {
  bool ends = false;       // of a process, at any moment
  bool steps = false;      // of a process, between two steps of its datapath
  bool stops = false;      // of a process, or of its datapath alone, for some time
  bool cuts = false;       // of links
  bool witness = false;    // it starts again, with the word that it saved last
  bool forgetful = false;  // ... or without
  bool disks = false;      // full
  bool power = false;      // lost, and with it what was not synced
  bool memories = false;   // lost: another host in its place
  bool copies = false;     // put back
  bool hand_overs = false;
  bool floods = false;  // as many orders as there is room for
  bool none() const noexcept {
    return !(ends || steps || stops || cuts || witness || disks || power || memories || copies ||
             hand_overs);
  }
};

struct Outcome {
  std::string problem;  // empty: all held
  std::uint32_t round = 0;
  std::uint64_t orders = 0;
  std::uint32_t epochs = 0;
  bool books_were_old = false;
};

class World {
 public:
  // folder: an empty one, of this run alone. tells: prints each fault and each change.
  World(std::uint64_t seed, const std::string& folder, log::HotLog& hot_log,
        std::uint32_t broken_habits, bool tells);
  ~World();

  Outcome run();
  Place* acting() noexcept { return acting_; }

 private:
  enum class Starves : std::uint8_t { kStandby, kJoiner, kWithoutDisk };

  void choose();
  bool settle_at_first();
  void disturb();
  void disturb_witness();
  void cut_a_link(const Place& place);
  void start(Place& place);
  void disturb(Place& place);
  void end_at_a_step(Place& place);
  void stop(Place& place);
  void heal();
  bool settles();
  void trade();
  void starve();
  bool joins_again(Place& place);
  void round(std::uint64_t step_ns, std::uint64_t orders, bool trades);
  void act(Place& place, bool ticks);
  void watch();
  void watch_room(Place& place);
  void restart_witness(bool forgets);
  void note_lost_epochs();
  void end_stops();
  bool is_well();
  void compare();
  bool all_arrives();
  void compare(Place& place);
  void compare_positions(const oeg::JournalState& state, const std::string& who);
  void compare_orders(const oeg::JournalState& state, const std::string& who);
  void operate();
  void problem(const std::string& what);
  void tell(const char* what, int who = 0);
  std::string state_of(Place& place) const;
  void tell_changes();
  void tell_change(std::string& told, const std::string& now);

  const bool tells_;
  const bool starves_;
  const Starves who_starves_;
  std::array<std::string, 3> told_;  // of the two places and the witness, last
  clock::VirtualTime time_;
  Random random_;
  Fabric fabric_;
  Venue venue_;
  Surroundings around_;
  Faults faults_;
  std::array<std::unique_ptr<Place>, 2> places_;
  Place* acting_ = nullptr;
  std::uint64_t saved_word_ = 0;
  std::uint64_t next_tick_ns_ = 0;
  std::array<std::uint64_t, 2> goes_on_ns_{};  // of those that are stopped
  std::uint64_t links_heal_ns_ = 0;
  std::array<std::uint64_t, 2> without_room_ns_{};  // since when a leader has none
  std::uint32_t round_ = 0;
  bool needs_person_ = false;  // what was lost may keep both from leading
  std::uint64_t fault_mille_ = 0;
  std::uint64_t ordered_ = 0;
  Outcome outcome_;
};

}  // namespace tickpath::simulation
