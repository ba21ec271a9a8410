// The functions of a plugin that the engine calls, for texts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tickpath::strategy {

enum class Callback : std::uint8_t {
  kCreate,
  kStart,
  kStop,
  kBookChange,
  kTrade,
  kReport,
  kTimer,
  kFeedState,
  kInstrument,
  kGatewayState,
  kImbalance,
};
inline constexpr std::array<const char*, 11> kCallbackNames = {
    "create", "start",      "stop",       "book_change",   "trade",    "report",
    "timer",  "feed_state", "instrument", "gateway_state", "imbalance"};

constexpr const char* name(Callback callback) noexcept {
  return kCallbackNames[static_cast<std::size_t>(callback)];
}

}  // namespace tickpath::strategy
