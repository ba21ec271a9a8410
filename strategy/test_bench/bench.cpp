#include "strategy/test_bench/bench.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/base/error.hpp"
#include "common/config/config.hpp"
#include "strategy/plugin_file.hpp"

namespace tickpath {

using strategy::PluginError;
using test_bench::Answer;
using test_bench::BookEvent;
using test_bench::Listing;

namespace {

constexpr std::size_t kLogLines = 1'024;           // of one turn
constexpr std::uint16_t kIncarnation = 1;          // of the strategy: its ids begin with it
constexpr unsigned kStepsAtOneMomentMax = 10'000;  // timers, answers: more never end

config::Parameters parameters_of(const TestBenchOptions& options) {
  config::Parameters parameters;
  try {
    parameters = config::load_parameters(options.parameters, "parameters");
  } catch (const config::ConfigError& error) {
    throw TestBenchError(error.what());
  }
  for (const auto& set : options.set) {
    const std::string& key = set.first;
    std::erase_if(parameters, [&key](const auto& each) { return each.key == key; });
    parameters.push_back({key, set.second, "set " + key});
  }
  return parameters;
}

}  // namespace

TestBench::Impl::Impl(const TestBenchOptions& options)
    : options_(options),
      market_(options.venues, options.instruments_max, options.time_of_day),
      simulated_(market_, exchange_),
      simulates_(options.simulated_venue),
      log_ring_(kLogLines),
      engine_({.instruments_max = options.instruments_max,
               .orders_max = options.orders_max,
               .timers_max = options.timers_max,
               .cancel_when_feed_stale = options.cancel_when_feed_stale},
              make_ports(), trace_, log_ring_),
      mdh_alive_(market_.venues(), true) {
  start();
  connect();
}

std::vector<strategy::StackPorts> TestBench::Impl::make_ports() {
  std::vector<strategy::StackPorts> all;
  const std::size_t count = market_.venues();
  for (std::size_t venue = 0; venue < count; ++venue) {
    Port& port = ports_.emplace_back();
    port.sent = &sent_;
    port.venue = venue;
    Images& images = images_.emplace_back();
    images.market = &market_;
    images.venue = venue;
    strategy::VenueSpec spec;
    if (count > 1 || !options_.venues.empty()) {
      const TestVenue& from = options_.venues[venue];
      spec = {from.name, static_cast<std::uint8_t>(count > 1 ? venue + 1 : 0), from.maker_fee,
              from.taker_fee};
    }
    all.push_back({&port, &images, spec, {}});
  }
  return all;
}

bool TestBench::Impl::Images::image(std::uint32_t id, wire::BookImage& out) noexcept {
  const Listing* const listing = market->by_id(venue, id);
  if (listing == nullptr || listing->trace_id == 0) return false;
  out = test_bench::Market::image(*listing);
  return true;
}

void TestBench::Impl::start() {
  strategy::PluginSpec spec;
  spec.id = options_.strategy_id;
  spec.parameters = parameters_of(options_);
  spec.place = "parameters";
  spec.incarnation = kIncarnation;
  try {
    const std::string path =
        strategy::find_plugin_file(options_.plugin, std::filesystem::current_path().string());
    const tickpath_plugin& code = strategy::load_plugin(path);
    engine_.advance(now_ns_);
    instance_ = &engine_.add(code, std::move(spec));
    engine_.start(*instance_);
  } catch (const PluginError& error) {
    throw StrategyFailure(error.what());
  }
  collect();
}

// As the program does: positions and oeg first, then the directory, then the feed.
void TestBench::Impl::connect() {
  for (Port& port : ports_) {
    if (!options_.connected) break;
    port.connected = true;
    turn([&] { engine_.on_gateway(options_.strategy_id, true, port.venue); });
  }
  for (const std::string& symbol : options_.symbols) list(symbol);
  for (std::size_t venue = 0; venue < market_.venues() && options_.connected; ++venue) {
    market_.set_feed(venue, wire::FeedState::kGood);
    turn([&] {
      engine_.on_mdh(true, venue);
      engine_.on_update(wire::feed_state_update(wire::kNoInstrument, wire::FeedState::kGood),
                        venue);
    });
  }
}

void TestBench::Impl::list(std::string_view name) {
  for (const Listing* const listing : market_.list(name)) {
    wire::DirectoryEntry entry{};
    std::ranges::fill(entry.symbol, ' ');
    std::ranges::copy(listing->symbol, entry.symbol);
    entry.instrument_id = listing->id;
    turn([&] { engine_.on_directory(entry, listing->venue); });
  }
}

// ------------------------------------------------------------------------------------------ a turn

void TestBench::Impl::collect() {
  for (std::size_t at = 0; at < sent_.size(); ++at) {
    const Port::Sent& sent = sent_[at];
    exchange_.take(sent.request, sent.venue,
                   *market_.by_id(sent.venue, sent.request.instrument_id));
  }
  sent_.clear();
  strategy::LogRecord record;
  while (log_ring_.try_pop(record))
    log_.push_back({static_cast<tickpath_log_level>(record.level), record.from_engine != 0,
                    std::string(record.view())});
  if (instance_ != nullptr && instance_->state == strategy::InstanceState::kFailed &&
      failure_.empty())
    failure_ = "plugin " + instance_->name + " (strategy " + std::to_string(instance_->id) +
               "): " + std::string(instance_->failure_text());
}

void TestBench::Impl::settle() {
  if (!simulates_) return;
  for (unsigned steps = 0; steps < kStepsAtOneMomentMax; ++steps) {
    const std::optional<Answer> next = simulated_.next();
    if (!next) return;
    step([&] { report(*next); });
  }
  throw StrategyFailure("the strategy answers reports with requests without an end: " +
                        std::to_string(kStepsAtOneMomentMax) + " at one moment");
}

void TestBench::Impl::tell_failure() {
  if (failure_.empty() || std::exchange(failure_told_, true)) return;
  throw StrategyFailure(failure_);
}

void TestBench::Impl::check_connected(std::size_t venue) const {
  if (!ports_[venue].connected)
    throw TestBenchError("oeg" + (market_.venues() > 1 ? " of " + market_.venue_name(venue) : "") +
                         " is away, and no report comes: gateway(true) first");
}
void TestBench::Impl::check_mdh(std::size_t venue) const {
  if (!mdh_alive_[venue])
    throw TestBenchError("mdh" + (market_.venues() > 1 ? " of " + market_.venue_name(venue) : "") +
                         " is away, and nothing comes from the feed: mdh(true) first");
}

void TestBench::Impl::update(Listing& listing, const BookEvent& event) {
  using wire::UpdateKind;
  check_mdh(listing.venue);
  const wire::BookUpdate update = market_.update(listing, event);
  if (event.kind != UpdateKind::kTrade && event.kind != UpdateKind::kTradingState)
    simulated_.on_book(listing);
  if (update.is_trade()) simulated_.on_trade(listing, event.price);
  turn([&] { engine_.on_update(update, listing.venue); });
}

void TestBench::Impl::set_book(Listing& listing, const std::vector<TestLevel>& bids,
                               const std::vector<TestLevel>& asks) {
  test_bench::Market::check_side(bids, Side::kBuy);
  test_bench::Market::check_side(asks, Side::kSell);
  check_mdh(listing.venue);
  listing.bids = bids;
  listing.asks = asks;
}

void TestBench::Impl::answer(const Answer& answer) {
  turn([&] { report(answer); });
}

void TestBench::Impl::report(const Answer& answer) {
  std::string_view text = answer.text;
  while (!text.empty()) {
    wire::TextReport part{};
    part.order_id = answer.report.order_id;
    part.kind = wire::ReportKind::kText;
    part.strategy_id = options_.strategy_id;
    part.length = static_cast<std::uint8_t>(std::min(text.size(), sizeof(part.text)));
    std::copy_n(text.begin(), part.length, part.text);
    text.remove_prefix(part.length);
    part.last = text.empty() ? 1 : 0;
    engine_.on_text(options_.strategy_id, part, answer.venue);
  }
  engine_.on_report(options_.strategy_id, answer.report, answer.venue);
}

void TestBench::Impl::set_held(const Listing& listing, bool held) {
  using trading::RejectReason;
  held ? (void)held_.insert(&listing) : (void)held_.erase(&listing);
  turn([&] {
    engine_.on_held(options_.strategy_id, wire::kNoInstrument, RejectReason::kNone, listing.venue);
    for (const Listing* const each : held_)
      if (each->venue == listing.venue)
        engine_.on_held(options_.strategy_id, each->id, RejectReason::kException, each->venue);
  });
}

void TestBench::Impl::advance(std::uint64_t ns) {
  const std::uint64_t end = now_ns_ + ns;
  const auto go_to = [this](std::uint64_t at) {
    market_.advance(at - now_ns_);
    now_ns_ = at;
    turn([] {});
  };
  for (unsigned steps = 0; engine_.next_timer_ns() <= end; ++steps) {
    const std::uint64_t next = std::max(engine_.next_timer_ns(), now_ns_);
    if (next != now_ns_) steps = 0;
    if (steps == kStepsAtOneMomentMax)
      throw StrategyFailure("the strategy sets timers without an end: " +
                            std::to_string(kStepsAtOneMomentMax) + " turns at one moment");
    go_to(next);
  }
  go_to(end);
}

}  // namespace tickpath
