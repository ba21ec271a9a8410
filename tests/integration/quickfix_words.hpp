// What both tests with QuickFIX read and say: fills, prices, the books that are kept of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/support/pipeline.hpp"
#include "tests/support/quickfix_peer.hpp"
#include "tests/support/recordings.hpp"

namespace tickpath::test_support {

using HeldShares = std::map<std::string, HeldPosition>;

inline std::string dictionary(bool v44) {
  return data_folder() / "fix" / (v44 ? "FIX44.xml" : "FIX42.xml");
}

inline std::string shown(const QuickFixMessage& message) {
  std::string text = "35=" + message.type;
  for (const auto& [tag, value] : message.fields) text += "|" + std::to_string(tag) + "=" + value;
  return text;
}

// FIX 4.2: ExecTransType New and ExecType Partial fill, Fill; FIX 4.4: ExecType Trade.
inline bool is_fill(const QuickFixMessage& report) {
  const std::string type = report.get(150);
  return type == "F" || (report.get(20) == "0" && (type == "1" || type == "2"));
}

// A price with up to four decimals, in 1/10,000.
inline std::int64_t price_of(const std::string& text) {
  const std::size_t dot = text.find('.');
  std::string decimals = dot == std::string::npos ? "" : text.substr(dot + 1);
  decimals.resize(4, '0');
  return std::stoll(text.substr(0, dot)) * 10'000 + std::stoll(decimals);
}

inline void book(HeldPosition& held, bool buys, std::int64_t shares, std::int64_t price) {
  const std::int64_t bought = buys ? shares : -shares;
  held.shares += bought;
  held.cash -= bought * price;
}
inline void book(HeldShares& held, const std::string& symbol, const std::string& side,
                 const std::string& shares, const std::string& price) {
  book(held[symbol], side == "1", std::stoll(shares), price_of(price));
}

inline HeldShares without_nothing(HeldShares held) {
  std::erase_if(held, [](const auto& each) { return each.second == HeldPosition{0, 0}; });
  return held;
}

}  // namespace tickpath::test_support
