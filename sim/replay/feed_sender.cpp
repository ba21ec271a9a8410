#include "sim/replay/feed_sender.hpp"

#include <algorithm>

#include "common/base/cpu.hpp"

namespace tickpath::sim {

FeedSender::FeedSender(const FeedOptions& options, trace::TraceWriter& trace)
    : socket_(options.socket),
      trace_(trace),
      session_(options.session),
      packet_messages_(options.packet_messages),
      longest_message_(options.packet_bytes - itch::mold::kHeaderBytes -
                       itch::mold::kBlockLengthBytes),
      builder_(std::span(buffer_).first(std::min(options.packet_bytes, buffer_.size()))) {
  builder_.begin(session_, next_sequence_);
}

FeedSender::Append FeedSender::append(std::span<const std::byte> message) noexcept {
  if (message.size() > longest_message_) [[unlikely]] {
    counters_.oversized.add();
    return Append::kOversized;
  }
  if (builder_.message_count() == packet_messages_ || !builder_.append(message))
    return Append::kFull;
  return Append::kOk;
}

net::IoStatus FeedSender::transmit(std::span<const std::byte> packet) noexcept {
  const net::IoStatus status = socket_.send(packet);
  last_sent_ = tsc_now();
  if (status == net::IoStatus::kOk) counters_.bytes.add(packet.size());
  if (status == net::IoStatus::kFailed) [[unlikely]]
    counters_.failed.add();
  return status;
}

bool FeedSender::send() noexcept {
  const std::uint16_t count = builder_.message_count();
  packet_ = builder_.finish();
  // Stamped before the call: on loopback the receiver has the packet before send() returns.
  const TscTicks now = tsc_now();
  for (std::uint64_t i = 0; i < count; ++i)
    trace_.stamp_at(trace::Hop::kSimSent, next_sequence_ + i, now);
  if (transmit(packet_) == net::IoStatus::kWouldBlock) [[unlikely]] {
    counters_.blocked.add();
    return false;
  }
  // A packet that the kernel refused is lost like one that a switch drops: its numbers are used.
  counters_.packets.add();
  counters_.messages.add(count);
  next_sequence_ += count;
  builder_.begin(session_, next_sequence_);
  return true;
}

void FeedSender::send_heartbeat() noexcept {
  builder_.begin(session_, next_sequence_);
  counters_.heartbeats.add();
  (void)transmit(builder_.finish());  // the next one comes soon
}

void FeedSender::send_end_of_session() noexcept {
  builder_.begin(session_, next_sequence_);
  counters_.ends_of_session.add();
  (void)transmit(builder_.finish_session());
}

}  // namespace tickpath::sim
