#include "sim/replay/feed_line.hpp"

#include <algorithm>
#include <cstring>

#include "common/base/cpu.hpp"
#include "common/base/memory.hpp"
#include "common/feeds/itch/moldudp64.hpp"

namespace tickpath::sim {

FeedLine::FeedLine(const net::SenderOptions& socket, const Impairment& impairment,
                   std::uint64_t seed)
    : socket_(socket),
      impairment_(impairment),
      loss_(impairment.loss, impairment.loss_burst, seed) {
  const clock::TickConverter converter;
  delay_ = converter.from_ns(impairment.delay_ns);
  jitter_ticks_ = converter.from_ns(impairment.jitter_ns).value;
  if (!impairment.delays()) return;
  buffers_.resize(kDelayedMax * itch::mold::kMaxPacketBytes);
  free_.reserve(kDelayedMax);
  reserve_touched(delayed_, kDelayedMax);
  for (std::uint32_t i = 0; i < kDelayedMax; ++i) free_.push_back(i);
}

net::IoStatus FeedLine::transmit(std::span<const std::byte> packet) noexcept {
  const net::IoStatus status = socket_.send(packet);
  if (status == net::IoStatus::kOk) counters_.packets.add();
  if (status == net::IoStatus::kFailed) [[unlikely]]
    counters_.failed.add();
  return status;
}

bool FeedLine::send(std::span<const std::byte> packet, TscTicks from) noexcept {
  if (!impairment_.any()) [[likely]]
    return transmit(packet) != net::IoStatus::kWouldBlock;
  if (loss_.lost()) {
    counters_.lost.add();
    return true;
  }
  if (buffers_.empty()) return transmit(packet) != net::IoStatus::kWouldBlock;
  if (free_.empty()) {
    counters_.crowded.add();
    if (!send_first()) return false;
  }
  delay(packet, from);
  return true;
}

void FeedLine::delay(std::span<const std::byte> packet, TscTicks from) noexcept {
  const std::uint32_t buffer = free_.back();
  free_.pop_back();
  std::memcpy(buffers_.data() + buffer * itch::mold::kMaxPacketBytes, packet.data(), packet.size());
  const auto jitter =
      static_cast<std::uint64_t>(loss_.random().unit() * static_cast<double>(jitter_ticks_));
  delayed_.push_back({{from.value + delay_.value + jitter},
                      order_++,
                      buffer,
                      static_cast<std::uint32_t>(packet.size())});
  std::push_heap(delayed_.begin(), delayed_.end());
}

// False: the socket is full.
bool FeedLine::send_first() noexcept {
  const Delayed first = delayed_.front();
  const std::span<const std::byte> packet(
      buffers_.data() + first.buffer * itch::mold::kMaxPacketBytes, first.bytes);
  if (transmit(packet) == net::IoStatus::kWouldBlock) return false;
  std::pop_heap(delayed_.begin(), delayed_.end());
  delayed_.pop_back();
  free_.push_back(first.buffer);
  return true;
}

bool FeedLine::turn(TscTicks now) noexcept {
  bool worked = false;
  while (!delayed_.empty() && delayed_.front().due <= now) {
    if (!send_first()) return worked;
    worked = true;
  }
  return worked;
}

}  // namespace tickpath::sim
