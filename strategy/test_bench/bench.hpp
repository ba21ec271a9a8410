// What is behind TestBench: the engine, and around it ports that keep what is sent.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/trace/stamp.hpp"
#include "strategy/engine.hpp"
#include "strategy/test_bench.hpp"
#include "strategy/test_bench/exchange.hpp"
#include "strategy/test_bench/market.hpp"
#include "strategy/test_bench/simulated_venue.hpp"

namespace tickpath {

class TestBench::Impl {
 public:
  explicit Impl(const TestBenchOptions& options);

  // One turn of the engine with this event in it, then what follows at the same moment. Throws
  // StrategyFailure when the strategy failed in it.
  template <class Event>
  void turn(Event&& event) {
    step(event);
    settle();
    tell_failure();
  }
  void update(test_bench::Listing& listing, const test_bench::BookEvent& event);
  // A book in place of the listing's.
  void set_book(test_bench::Listing& listing, const std::vector<TestLevel>& bids,
                const std::vector<TestLevel>& asks);
  void answer(const test_bench::Answer& answer);
  void advance(std::uint64_t ns);
  // Tells the venue's whole list anew, as oeg does.
  void set_held(const test_bench::Listing& listing, bool held);
  void list(std::string_view name);
  // Throws TestBenchError when the oeg of the venue is away: no report can come.
  void check_connected(std::size_t venue) const;
  void check_mdh(std::size_t venue) const;
  std::uint32_t listing_id(const test_bench::Listing& listing) const {
    return static_cast<std::uint32_t>(listing.venue) * options_.instruments_max + listing.id;
  }

  // Keeps what the engine sends to one venue.
  struct Port final : strategy::OrderPort {
    bool send(const wire::OrderRequest& request) noexcept override {
      if (credit == 0) return false;
      --credit;
      sent->push_back({request, venue});
      return true;
    }
    struct Sent {
      wire::OrderRequest request;
      std::size_t venue;
    };
    std::vector<Sent>* sent = nullptr;
    std::size_t venue = 0;
    std::uint32_t credit = 0xffff'ffff;
    bool connected = false;
  };
  struct Images final : strategy::ImageSource {
    bool image(std::uint32_t id, wire::BookImage& out) noexcept override;
    const test_bench::Market* market = nullptr;
    std::size_t venue = 0;
  };

  TestBenchOptions options_;
  test_bench::Market market_;
  test_bench::Exchange exchange_;
  test_bench::SimulatedVenue simulated_;
  bool simulates_;
  std::deque<Port> ports_;  // by venue
  std::deque<Images> images_;
  std::vector<Port::Sent> sent_;
  trace::TraceWriter trace_{trace::TraceOptions{}};
  strategy::LogRing log_ring_;
  std::vector<TestLogLine> log_;
  strategy::Engine engine_;
  strategy::Instance* instance_ = nullptr;
  std::uint64_t now_ns_ = 1'000'000'000;  // its start is arbitrary, and not 0
  std::size_t taken_ = 0;                 // requests before this one were handed out
  std::string failure_;
  bool failure_told_ = false;
  std::uint64_t stray_executions_ = 0;

  std::vector<bool> mdh_alive_;  // by venue
  std::set<const test_bench::Listing*> held_;

 private:
  template <class Event>
  void step(Event&& event) {
    engine_.advance(now_ns_);
    for (std::size_t venue = 0; venue < market_.venues(); ++venue)
      engine_.on_directory_behind(false, venue);
    event();
    engine_.on_turn();
    collect();
  }
  std::vector<strategy::StackPorts> make_ports();
  void start();
  void connect();
  void collect();
  void settle();
  void tell_failure();
  void report(const test_bench::Answer& answer);
};

}  // namespace tickpath
