// A LOBSTER message file of any bytes. What comes out must be ITCH that a book can follow: every
// message decodes, every reference is open, no time goes back.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <unordered_map>

#include "common/itch/lobster.hpp"

namespace {

using namespace tickpath::itch;

class Auditor {
 public:
  void operator()(const AddOrder& m) {
    if (m.shares == 0 || m.price == 0) std::abort();
    if (!open_.emplace(m.order_reference_number, m.shares).second) std::abort();
  }
  void operator()(const OrderExecuted& m) { take(m.order_reference_number, m.executed_shares); }
  void operator()(const OrderCancel& m) { take(m.order_reference_number, m.cancelled_shares); }
  void operator()(const OrderDelete& m) {
    if (open_.erase(m.order_reference_number) == 0) std::abort();
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  try {
    LobsterReader reader(tickpath::files::open_memory(bytes, "fuzz"), "TEST");
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
  } catch (const RecordingError&) {
    // The answer to a file without a single event.
  }
  return 0;
}
