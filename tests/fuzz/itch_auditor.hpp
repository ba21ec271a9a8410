// A handler for itch::decode() that aborts when an order book could not follow.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <unordered_map>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::itch {

class Auditor {
 public:
  void operator()(const AddOrder& m) {
    if (m.shares == 0 || m.price == 0) std::abort();
    if (!open_.emplace(m.order_reference_number, m.shares).second) std::abort();
  }
  void operator()(const OrderExecuted& m) { take(m.order_reference_number, m.executed_shares); }
  void operator()(const OrderExecutedWithPrice& m) {
    take(m.order_reference_number, m.executed_shares);
  }
  void operator()(const OrderCancel& m) { take(m.order_reference_number, m.cancelled_shares); }
  void operator()(const OrderDelete& m) {
    if (open_.erase(m.order_reference_number) == 0) std::abort();
  }
  void operator()(const OrderReplace& m) {
    if (open_.erase(m.original_order_reference_number) == 0) std::abort();
    if (m.shares == 0 || m.price == 0) std::abort();
    if (!open_.emplace(m.new_order_reference_number, m.shares).second) std::abort();
  }
  void operator()(const auto&) {}

 private:
  void take(std::uint64_t reference, std::uint32_t shares) {
    const auto order = open_.find(reference);
    if (order == open_.end() || shares == 0 || order->second < shares) std::abort();
    if ((order->second -= shares) == 0) open_.erase(order);
  }
  std::unordered_map<std::uint64_t, std::uint32_t> open_;
};

// Reads a recording to its end: every message decodes, an order book could follow, no time goes
// back, and damage is told where there is some.
inline void audit(RecordingReader& reader) {
  Auditor auditor;
  RecordedMessage message;
  std::uint64_t last_ns = 0;
  ReadStatus status;
  while ((status = reader.next(message)) == ReadStatus::kMessage) {
    if (decode(message.bytes, auditor) != DecodeStatus::kOk) std::abort();
    if (message.timestamp_ns < last_ns) std::abort();
    last_ns = message.timestamp_ns;
  }
  if ((status == ReadStatus::kDamaged) == reader.damage().empty()) std::abort();
}

}  // namespace tickpath::itch
