#include "common/market/market_reader.hpp"

#include <algorithm>

#include "common/wire/names.hpp"

namespace tickpath::market {
namespace {

// Numbers of the clocks in the trace; those of the connections to oeg have others.
constexpr std::uint32_t kClockA = 1;
constexpr std::uint32_t kClockB = 0x101;

}  // namespace

MarketReaderOptions reader_options(wire::Role role, const control::CommonConfig& common,
                                   const FeedConfig& feed, const HeartbeatConfig& heartbeat,
                                   std::uint32_t instruments_max, clock::OffsetSink& offsets) {
  const bool parks = common.wait == control::WaitMode::kPark;
  return {.endpoint = feed.endpoint,
          .endpoint_b = feed.endpoint_b,
          .name = common.name.empty() ? std::string(wire::name(role)) : common.name,
          .role = role,
          .mode = parks ? link::RingMode::kImmediate : link::RingMode::kPoll,
          .ring_depth = feed.ring_slots,
          .instruments_max = instruments_max,
          .heartbeat = heartbeat.options(),
          .offsets = &offsets};
}

MarketReader::MarketReader(rdma::Device& device, rdma::CompletionChannel* channel,
                           const MarketReaderOptions& options) {
  sources_.emplace_back(device, channel, options, 0, options.clock_stream + kClockA);
  if (options.endpoint_b.empty()) return;
  MarketReaderOptions second = options;
  second.endpoint = options.endpoint_b;
  sources_.emplace_back(device, channel, second, 1, options.clock_stream + kClockB);
  pair_ = std::make_unique<MarketPair>(sources_, options.instruments_max,
                                       options.heartbeat.dead_after_ns);
}

bool MarketReader::maintain(std::uint64_t now_ns) {
  std::string connected;
  for (MarketSource& source : sources_)
    if (source.maintain(now_ns))
      connected += (connected.empty() ? "" : " and ") + source.endpoint();
  if (pair_ != nullptr) pair_->tell_refused();
  if (connected.empty()) return false;
  connected_to_ = connected;
  return true;
}

std::string MarketReader::not_ready_reason() const {
  std::string reasons;
  for (const MarketSource& source : sources_) {
    const std::string reason = source.not_ready_reason();
    if (reason.empty()) return {};
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return reasons;
}

void MarketReader::register_counters(control::Counters& out, const std::string& group) const {
  sources_.front().register_counters(out, group);
  if (pair_ == nullptr) return;
  sources_.back().register_counters(out, group + "_b");
  pair_->register_counters(out, group + "_pair");
}

control::RingFlow MarketReader::flow() const {
  control::RingFlow flow;
  for (const MarketSource& source : sources_) {
    const control::RingFlow other = source.flow();
    flow.published += other.published;
    flow.seen += other.seen;
    flow.overrun += other.overrun;
  }
  return flow;
}

void MarketReader::arm() noexcept {
  for (MarketSource& source : sources_) source.arm();
}

bool MarketReader::may_sleep() const noexcept {
  return std::ranges::all_of(sources_, &MarketSource::may_sleep);
}

void MarketReader::close() noexcept {
  for (MarketSource& source : sources_) source.close();
}

}  // namespace tickpath::market
