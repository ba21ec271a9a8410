// The events of fuzz(): which one comes next, by a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/random.hpp"
#include "strategy/test_bench.hpp"

namespace tickpath::test_bench {

class FuzzEvents {
 public:
  FuzzEvents(TestBench& bench, std::vector<std::string> listings, std::vector<std::string> venues,
             std::uint32_t instruments, std::uint8_t strategy, std::uint64_t seed);

  // What comes next; its name, for reports.
  const char* choose();
  // Sends what was chosen. False: it cannot be now (a fill without an order).
  bool send(FuzzResult& result);

 private:
  using Event = void (FuzzEvents::*)();
  struct Choice {
    const char* name;
    Event event;
    unsigned weight;
  };
  static const std::vector<Choice>& choices();

  void quote();
  void deep_book();
  void add();
  void remove();
  void move();
  void execute();
  void trade();
  void imbalance();
  void trading();
  void clear();
  void resync();
  void message();
  void feed();
  void feed_of();
  void mdh();
  void answer();
  void fill();
  void expire();
  void restate();
  void trigger();
  void bust();
  void correct();
  void stray_report();
  void gateway();
  void gateway_silent();
  void accepting();
  void hold();
  void credit();
  void recover();
  void adopt();
  void advance();
  void begin_day();
  void stop();

  std::uint32_t below(std::uint64_t limit) { return random_.below(limit); }
  const std::string& listing() { return listings_[below(listings_.size())]; }
  std::size_t any_venue() { return below(venues_.size()); }
  tickpath_side side() { return below(2) == 0 ? TICKPATH_BUY : TICKPATH_SELL; }
  std::uint32_t price();
  std::uint32_t shares();
  std::vector<TestLevel> levels(tickpath_side side, std::uint32_t best);
  // An open order; throws TestBenchError when there is none.
  TestOrder open_order();
  std::uint64_t any_execution();

  TestBench& bench_;
  std::vector<std::string> listings_;
  std::vector<std::string> venues_;
  std::uint32_t instruments_;
  std::uint8_t strategy_;
  Random random_;
  const Choice* chosen_ = nullptr;
  std::uint32_t base_price_ = 100'000;
  // By venue: what is away, or out of credit, until recover().
  std::vector<bool> mdh_away_;
  std::vector<bool> gateway_away_;
  std::vector<bool> without_credit_;
  std::vector<std::uint64_t> executions_;
  std::vector<std::uint64_t> unanswered_;  // requests, oldest first
  std::uint64_t fills_ = 0;
  std::uint64_t outages_ = 0;
};

}  // namespace tickpath::test_bench
