#include "common/market/market_reader.hpp"

#include <utility>

#include "common/log/log.hpp"
#include "common/wire/names.hpp"

namespace tickpath::market {
namespace {

// Numbers of the clocks in the trace; those of the connections to oeg have others.
constexpr std::uint32_t kClockA = 1;
constexpr std::uint32_t kClockB = 0x101;

MarketReaderOptions of_second(MarketReaderOptions options) {
  options.endpoint = options.endpoint_b;
  return options;
}

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
                           const MarketReaderOptions& options)
    : a_(device, channel, options, options.clock_stream + kClockA),
      names_(options.endpoint_b.empty() ? 0 : options.instruments_max) {
  if (options.endpoint_b.empty()) return;
  b_.emplace(device, channel, of_second(options), options.clock_stream + kClockB);
  merge_.emplace(options.instruments_max, options.heartbeat.dead_after_ns);
}

bool MarketReader::maintain(std::uint64_t now_ns) {
  const bool a = a_.maintain(now_ns);
  const bool b = b_ && b_->maintain(now_ns);
  for (std::size_t source = 0; b_ && source < FeedMerge::kSources; ++source)
    if (std::exchange(refusals_told_[source], refused_[source].get()) != refused_[source].get())
      log::error(
          "mdh at {} is not used: it gives the ids of mdh at {} to other symbols. Stop it, put a "
          "copy of the other one's instruments_file in place of its own, and start it",
          at(source).endpoint(), at(1 - source).endpoint());
  if (a) connected_to_ = a_.endpoint();
  if (b) connected_to_ = a ? connected_to_ + " and " + b_->endpoint() : b_->endpoint();
  return a || b;
}

std::string MarketReader::not_ready_reason() const {
  const std::string first = a_.not_ready_reason();
  if (!b_ || first.empty()) return first;
  const std::string second = b_->not_ready_reason();
  return second.empty() ? second : first + "; " + second;
}

void MarketReader::register_counters(control::Counters& out, const std::string& group) const {
  a_.register_counters(out, group);
  if (!b_) return;
  b_->register_counters(out, group + "_b");
  const std::string pair = group + "_pair";
  constexpr auto kKey = control::Counters::Weight::kKey;
  out.add(pair, merge_->counters(), {"taken_a", "taken_b"});
  out.add(pair, "alive", alive_);
  out.add(pair, "state", state_);
  out.add(pair, "refused_a", refused_[0], kKey);
  out.add(pair, "refused_b", refused_[1], kKey);
}

control::RingFlow MarketReader::flow() const {
  control::RingFlow flow = a_.flow();
  if (!b_) return flow;
  const control::RingFlow other = b_->flow();
  flow.published += other.published;
  flow.seen += other.seen;
  flow.overrun += other.overrun;
  return flow;
}

bool MarketReader::directory_behind() const noexcept {
  if (!b_) return a_.directory_behind();
  // One that joins is not waited for while the other is there.
  const bool either = joining_[0].directory_read || joining_[1].directory_read;
  for (std::size_t source = 0; source < FeedMerge::kSources; ++source)
    if ((!either || joining_[source].directory_read) && at(source).directory_behind()) return true;
  return false;
}

bool MarketReader::image(std::uint32_t instrument, wire::BookImage& out) noexcept {
  if (!b_) return a_.image(instrument, out);
  for (const bool followed : {true, false})
    for (std::size_t source = 0; source < FeedMerge::kSources; ++source)
      if (merge_->can_follow(source) == followed && at(source).image(instrument, out) &&
          merge_->current(source, out))
        return true;
  return false;
}

void MarketReader::arm() noexcept {
  a_.arm();
  if (b_) b_->arm();
}

bool MarketReader::may_sleep() const noexcept { return a_.may_sleep() && (!b_ || b_->may_sleep()); }

void MarketReader::close() noexcept {
  a_.close();
  if (b_) b_->close();
}

// The word is as of word_at: it says nothing of updates before, and is told before those behind.
void MarketReader::settle_word(std::size_t source, std::uint64_t behind) noexcept {
  Joining& joining = joining_[source];
  if (!joining.word_waits || at(source).position() < joining.word_at + behind) [[likely]]
    return;
  joining.word_waits = false;
  merge_->set_word(source, joining.word, joining.place);
}

void MarketReader::on_live(std::size_t source) noexcept {
  merge_->end_adoption(source);
  if (merge_->numbered(source)) return;
  const link::Watermark& watermark = at(source).watermark();
  joining_[source].word = watermark.program_word;
  joining_[source].place = watermark.program_place;
  joining_[source].word_at = watermark.published_sequence;
  joining_[source].word_waits = true;
}

bool MarketReader::agrees(std::size_t source, const wire::DirectoryEntry& row) noexcept {
  if (joining_[source].refused) return false;
  if (names_.confirm(row) != Identities::Verdict::kOther) return true;
  joining_[source].refused = true;
  refused_[source].add();
  merge_->set_ready(source, false);
  return false;
}

}  // namespace tickpath::market
