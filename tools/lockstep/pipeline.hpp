// The five programs, turned in a fixed order under one virtual clock.
//
// A round is one turn of each: sim, mdh, strategies, oeg, risk. What a program hands on in its turn
// is there for the next one in the same round; what oeg sends is delivered to sim at the start of
// the next round. A round in which somebody worked takes Options::round_ns; after an idle one the
// time goes on to the next thing that is due, Options::idle_ns at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/memory.hpp"
#include "common/clock/virtual_time.hpp"
#include "sim/datapath.hpp"
#include "tools/lockstep/journal.hpp"
#include "tools/lockstep/lockstep.hpp"
#include "tools/lockstep/member.hpp"
#include "tools/lockstep/network.hpp"

namespace tickpath::lockstep {

// One thread; see run().
class Pipeline {
 public:
  // Sets the programs up. Throws as run().
  explicit Pipeline(const Options& options);
  ~Pipeline();

  // Until every program is ready.
  void start();
  // The recording, from its start to its end, and what settles afterwards.
  void replay();
  // Program after program, as `tickpath down` does, and what is left of each.
  Result finish();

 private:
  void make_members();
  void connect_orders(const sim::SimConfig& sim, const oeg::OegConfig& oeg);
  void round();
  bool turn(Member& member);
  void control_turns();
  void advance(bool worked);
  void show_progress();
  void stop(Member& member);
  void check_failures() const;
  std::string waits_for() const;
  std::uint64_t state_of(Member& member, const std::string& summary) const;
  std::uint64_t now_ns() const noexcept { return time_.now_ns(); }

  const Options options_;
  UntouchedPages untouched_;
  clock::VirtualTime time_;
  Network network_;
  std::vector<Member> members_;  // in the order of their turns; sim is the first
  sim::SimDatapath* sim_ = nullptr;
  std::unique_ptr<JournalWriter> journal_;
  std::string oeg_journal_path_;
  std::uint64_t settle_ns_ = 0;
  std::uint64_t next_control_ns_ = clock::VirtualTime::kStartNs + 1;  // not before on_start()
  std::uint64_t next_beat_ns_ = 0;
  std::uint64_t rounds_ = 0;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace tickpath::lockstep
