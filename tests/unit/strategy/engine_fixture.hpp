// An engine with a market made by hand and an order port that keeps what is sent.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/wire/order_id.hpp"
#include "strategy/engine.hpp"
#include "strategy/plugin.hpp"

namespace tickpath::strategy::testing {

class KeepingPort final : public OrderPort {
 public:
  bool send(const wire::OrderRequest& request) noexcept override {
    if (credits == 0) return false;
    --credits;
    if (count < sent.size()) sent[count] = request;
    ++count;
    return true;
  }
  const wire::OrderRequest& last() const { return sent.at(count - 1); }

  std::uint64_t credits = 1'000'000;
  std::vector<wire::OrderRequest> sent = std::vector<wire::OrderRequest>(4'096);
  std::size_t count = 0;
};

class HandMadeImages final : public ImageSource {
 public:
  bool image(std::uint32_t instrument, wire::BookImage& out) noexcept override {
    const auto found = images.find(instrument);
    if (found == images.end()) return false;
    out = found->second;
    return true;
  }
  std::map<std::uint32_t, wire::BookImage> images;
};

// Lets each test give the callbacks it needs, and records the rest.
class Scripted : public tickpath::Strategy {
 public:
  using tickpath::Strategy::at_least;
  using tickpath::Strategy::cancel;
  using tickpath::Strategy::cancel_timer;
  using tickpath::Strategy::depth;
  using tickpath::Strategy::find_symbol;
  using tickpath::Strategy::limit;
  using tickpath::Strategy::log;
  using tickpath::Strategy::market;
  using tickpath::Strategy::market_ns;
  using tickpath::Strategy::open_order;
  using tickpath::Strategy::open_orders;
  using tickpath::Strategy::pegged;
  using tickpath::Strategy::position;
  using tickpath::Strategy::post_only;
  using tickpath::Strategy::price_text;
  using tickpath::Strategy::quote;
  using tickpath::Strategy::reason_of;
  using tickpath::Strategy::replace;
  using tickpath::Strategy::replace_stop;
  using tickpath::Strategy::reserve;
  using tickpath::Strategy::round_down;
  using tickpath::Strategy::round_up;
  using tickpath::Strategy::set_market_timer;
  using tickpath::Strategy::set_timer;
  using tickpath::Strategy::stop_order;
  using tickpath::Strategy::subscribe;
  using tickpath::Strategy::symbol_of;
  using tickpath::Strategy::text_of;
  using tickpath::Strategy::to_price;
  using tickpath::Strategy::to_units;

  Scripted() {
    last_made = this;
    changes.reserve(1'000);
    reports.reserve(1'000);
  }
  static inline Scripted* last_made = nullptr;
  static inline bool subscribe_to_all = true;

  void start() override {
    if (subscribe_to_all) subscribe_all();
  }
  void instrument(std::string_view symbol, Instrument id) override {
    instruments.emplace_back(symbol, id);
  }
  void book_change(const BookChange& change) override {
    changes.push_back(change);
    if (on_change) on_change(*this, change);
  }
  void trade(const Trade& trade) override { trades.push_back(trade); }
  void imbalance(const Imbalance& told) override { imbalances.push_back(told); }
  void report(const Report& report) override { reports.push_back(report); }
  void timer(std::uint64_t, std::uint64_t cookie) override { timers.push_back(cookie); }
  void feed_state(Instrument id, std::uint8_t state) override { feeds.emplace_back(id, state); }
  void gateway_state(bool up) override { gateway.push_back(up); }
  void stop() override {
    if (on_stop) on_stop(*this);
  }

  void (*on_change)(Scripted&, const BookChange&) = nullptr;
  void (*on_stop)(Scripted&) = nullptr;
  std::vector<std::pair<std::string, Instrument>> instruments;
  std::vector<BookChange> changes;
  std::vector<Trade> trades;
  std::vector<Imbalance> imbalances;
  std::vector<Report> reports;
  std::vector<std::uint64_t> timers;
  std::vector<std::pair<Instrument, std::uint8_t>> feeds;
  std::vector<bool> gateway;
};

inline const tickpath_plugin& scripted_plugin() {
  static const tickpath_plugin plugin = plugin_boundary::describe<Scripted>("scripted", "1");
  return plugin;
}

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { Scripted::subscribe_to_all = true; }

  // An instance that runs, connected to oeg.
  Scripted& add(std::uint8_t id, config::Parameters parameters = {}) {
    Instance& instance = add(id, scripted_plugin(), std::move(parameters));
    (void)instance;
    return *Scripted::last_made;
  }
  Instance& add(std::uint8_t id, const tickpath_plugin& plugin,
                config::Parameters parameters = {}) {
    Instance& instance =
        engine.add(plugin, {id, "", std::move(parameters), "test.toml", /*incarnation=*/7});
    engine.start(instance);
    engine.on_gateway(id, true);
    return instance;
  }

  void list(std::uint32_t instrument, const char* symbol) {
    wire::DirectoryEntry entry{};
    std::memset(entry.symbol, ' ', sizeof(entry.symbol));
    std::memcpy(entry.symbol, symbol, std::strlen(symbol));
    entry.instrument_id = instrument;
    engine.on_directory(entry);
  }

  static wire::BookUpdate update(std::uint32_t instrument, std::uint32_t bid, std::uint32_t ask,
                                 wire::UpdateKind kind = wire::UpdateKind::kAdd) {
    static std::uint64_t sequence = 0;
    wire::BookUpdate made{.trace_id = ++sequence,
                          .exchange_time_ns = sequence * 1'000,
                          .instrument_id = instrument,
                          .price = bid,
                          .shares = 100,
                          .best_bid = bid,
                          .best_ask = ask,
                          .best_bid_shares = 300,
                          .best_ask_shares = 200,
                          .kind = kind,
                          .side = Side::kBuy};
    made.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
    return made;
  }

  // A report about the order or request `id`.
  static wire::OrderReport report(wire::ReportKind kind, std::uint64_t id,
                                  std::uint64_t target = 0) {
    return {.order_id = id,
            .target_order_id = target,
            .instrument_id = 3,
            .kind = kind,
            .side = Side::kBuy,
            .strategy_id = wire::OrderId::strategy(id)};
  }
  void accept(std::uint64_t id) {
    engine.on_report(wire::OrderId::strategy(id), report(wire::ReportKind::kAccepted, id));
  }
  void fill(std::uint64_t id, std::uint32_t shares, std::uint32_t price, std::uint32_t leaves,
            std::uint32_t cumulative, Side side = Side::kBuy) {
    wire::OrderReport made = report(wire::ReportKind::kFill, id);
    made.side = side;
    made.last_shares = shares;
    made.last_price = price;
    made.leaves_shares = leaves;
    made.cumulative_shares = cumulative;
    engine.on_report(made.strategy_id, made);
  }
  void tell(wire::ReportKind kind, std::uint64_t id, std::uint64_t target = 0,
            trading::RejectReason reason = trading::RejectReason::kNone) {
    wire::OrderReport made = report(kind, id, target);
    made.reason = reason;
    engine.on_report(made.strategy_id, made);
  }

  std::string next_log() {
    LogRecord record;
    return log.try_pop(record) ? std::string(record.view()) : std::string();
  }

  KeepingPort port;
  HandMadeImages images;
  trace::TraceWriter trace{trace::TraceOptions{}};
  LogRing log{64};
  EngineOptions options{
      .instruments_max = 64, .orders_max = 16, .timers_max = 8, .cancel_when_feed_stale = true};
  Engine engine{options, port, images, trace, log};
};

}  // namespace tickpath::strategy::testing
