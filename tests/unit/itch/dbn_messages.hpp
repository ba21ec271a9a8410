// Databento's records made for a test, and the ITCH messages that come of them, as texts.
#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/recordings/dbn_reader.hpp"
#include "tests/support/dbn_bytes.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch::test {

using dbn::MboMessage;

inline constexpr std::uint64_t kDbnMidnightNs = 20'000ull * 86'400 * 1'000'000'000;
inline constexpr std::int64_t kDbnDollar = 1'000'000'000;

inline MboMessage mbo(char action, char side, std::uint64_t order, double dollars,
                      std::uint32_t size, std::uint32_t instrument = 11) {
  return {.publisher = 2,
          .instrument = instrument,
          .event_time_ns = kDbnMidnightNs + 34'200'000'000'000,
          .order_id = order,
          .price = static_cast<std::int64_t>(dollars * kDbnDollar),
          .size = size,
          .flags = 0x80,
          .action = action,
          .side = side,
          .receive_time_ns = kDbnMidnightNs + 34'200'000'001'000};
}

inline Bytes file_of(const std::vector<MboMessage>& messages, std::uint8_t version = 3) {
  Bytes bytes =
      test_support::encode_metadata({.version = version,
                                     .dataset = "XNAS.ITCH",
                                     .symbols = {{11, "AAPL"}, {12, "A VERY LONG SYMBOL"}}});
  for (const MboMessage& message : messages) {
    bytes.resize(bytes.size() + dbn::kMboBytes);
    test_support::store_mbo(message, &bytes[bytes.size() - dbn::kMboBytes]);
  }
  return bytes;
}

// "A B 1 100@1000000": type and what it says, without header.
struct Describe {
  std::string text;
  void operator()(const StockDirectory& m) { text = "R " + std::string(m.stock.view()); }
  void operator()(const AddOrder& m) {
    text = std::string("A ") + m.buy_sell_indicator + " " +
           std::to_string(m.order_reference_number) + " " + std::to_string(m.shares) + "@" +
           std::to_string(m.price);
  }
  void operator()(const OrderExecuted& m) {
    text =
        "E " + std::to_string(m.order_reference_number) + " " + std::to_string(m.executed_shares);
  }
  void operator()(const OrderExecutedWithPrice& m) {
    text = "C " + std::to_string(m.order_reference_number) + " " +
           std::to_string(m.executed_shares) + "@" + std::to_string(m.execution_price) +
           (m.printable == 'Y' ? "" : " N");
  }
  void operator()(const OrderCancel& m) {
    text =
        "X " + std::to_string(m.order_reference_number) + " " + std::to_string(m.cancelled_shares);
  }
  void operator()(const OrderDelete& m) { text = "D " + std::to_string(m.order_reference_number); }
  void operator()(const OrderReplace& m) {
    text = "U " + std::to_string(m.original_order_reference_number) + " " +
           std::to_string(m.new_order_reference_number) + " " + std::to_string(m.shares) + "@" +
           std::to_string(m.price);
  }
  void operator()(const NonCrossTrade& m) {
    text = "P " + std::to_string(m.shares) + "@" + std::to_string(m.price);
  }
  void operator()(const CrossTrade& m) {
    text = "Q " + std::to_string(m.shares) + "@" + std::to_string(m.cross_price);
  }
  void operator()(const auto&) { text = "?"; }
};

inline std::vector<std::string> texts(RecordingReader& reader) {
  std::vector<std::string> all;
  for (const Bytes& message : test::collect(reader).messages) {
    Describe describe;
    EXPECT_EQ(decode(message, describe), DecodeStatus::kOk);
    all.push_back(describe.text);
  }
  return all;
}
// Without the listing of the instruments that the metadata names.
inline std::vector<std::string> converted(const std::vector<MboMessage>& messages) {
  const Bytes file = file_of(messages);
  DbnReader reader(test_support::open_memory(file, "made.dbn"));
  std::vector<std::string> all = texts(reader);
  EXPECT_THAT(all, ::testing::IsSupersetOf({"R AAPL", "R #C"}));
  all.erase(all.begin(), all.begin() + 2);
  return all;
}

}  // namespace tickpath::itch::test
