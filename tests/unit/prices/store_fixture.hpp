// A price store, and a client that READs it, for tests.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "common/stores/prices/price_client.hpp"
#include "common/stores/prices/price_store.hpp"
#include "common/wire/directory.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::prices::test {

inline constexpr std::uint64_t kSecond = 1'000'000'000;
inline constexpr std::uint64_t kOpen = 34'200 * kSecond;  // 9:30

inline StoreOptions small_store() {
  StoreOptions options;
  options.instruments = 16;
  options.trades = options.quotes = options.bars_1s = options.bars_1m = 2'048;
  return options;
}

inline wire::BookUpdate trade_of(std::uint32_t id, std::uint64_t trace, std::uint64_t time_ns,
                                 std::uint32_t price, std::uint32_t shares) {
  wire::BookUpdate update{};
  update.trace_id = trace;
  update.exchange_time_ns = time_ns;
  update.instrument_id = id;
  update.price = price;
  update.shares = shares;
  update.kind = wire::UpdateKind::kTrade;
  update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
  return update;
}

inline wire::BookUpdate quote_of(std::uint32_t id, std::uint64_t trace, std::uint64_t time_ns,
                                 std::uint32_t bid, std::uint32_t ask) {
  wire::BookUpdate update{};
  update.trace_id = trace;
  update.exchange_time_ns = time_ns;
  update.instrument_id = id;
  update.kind = wire::UpdateKind::kAdd;
  update.best_bid = bid;
  update.best_ask = ask;
  update.best_bid_shares = update.best_ask_shares = 100;
  update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
  return update;
}

template <class Entry>
Entry entry_of(const wire::HistoryLine& line) {
  Entry entry;
  std::memcpy(&entry, line.payload.data(), sizeof(entry));
  return entry;
}
template <class Entry>
std::vector<Entry> entries_of(const std::vector<wire::HistoryLine>& lines) {
  std::vector<Entry> entries;
  for (const wire::HistoryLine& line : lines) entries.push_back(entry_of<Entry>(line));
  return entries;
}

inline std::string symbol_name(std::uint32_t id) { return "S" + std::to_string(id); }

inline link::test::Fabric& fabric() {
  static link::test::Fabric one;
  return one;
}

// Both ends of a connection over which a region is READ.
class Reading {
 public:
  explicit Reading(rdma::Grant grant) {
    fabric().meet(
        [&] {
          there = std::move(
              link::connect_tables(*fabric().device, fabric().endpoint, {}, {}, 10'000).connection);
        },
        [&](rdma::ConnectionRequest& request) {
          here = link::accept_tables(*fabric().device, request, {}, {&grant, 1});
        });
  }
  std::unique_ptr<link::Connection> here;
  std::unique_ptr<link::Connection> there;
};

class PriceStores : public testing::Test {
 protected:
  explicit PriceStores(const StoreOptions& options = small_store())
      : store(*fabric().device, options, 64, "prices"), reading(store.grant()) {
    client.attach(*reading.there, reading.there->extras()[0]);
    for (std::uint32_t id = 0; id < 8; ++id) store.list(wire::symbol_word(symbol_name(id)), id);
  }
  RangeAnswer range(std::uint32_t id, const RangeRequest& request,
                    std::vector<wire::HistoryLine>& out) {
    return client.range(symbol_name(id), request, out, 10'000);
  }

  PriceStore store;
  Reading reading;
  PriceClient client{*fabric().device, "client"};
};

}  // namespace tickpath::prices::test
