#include "common/market/market_pair.hpp"

#include <utility>

#include "common/log/log.hpp"

namespace tickpath::market {

MarketPair::MarketPair(std::deque<MarketSource>& sources, std::uint32_t instruments_max,
                       std::uint64_t timeout_ns)
    : sources_(sources), merge_(instruments_max, timeout_ns), names_(instruments_max) {}

void MarketPair::tell_refused() {
  for (std::size_t source = 0; source < FeedMerge::kSources; ++source)
    if (std::exchange(logged_[source], refused_[source].get()) != refused_[source].get())
      log::error(
          "mdh at {} is not used: it gives the ids of mdh at {} to other symbols. Stop it, put a "
          "copy of the other one's instruments_file in place of its own, and start it",
          sources_[source].endpoint(), sources_[1 - source].endpoint());
}

void MarketPair::register_counters(control::Counters& out, const std::string& group) const {
  constexpr auto kKey = control::Counters::Weight::kKey;
  out.add(group, merge_.counters(), {"taken_a", "taken_b"});
  out.add(group, "alive", alive_);
  out.add(group, "state", state_);
  out.add(group, "refused_a", refused_[0], kKey);
  out.add(group, "refused_b", refused_[1], kKey);
}

bool MarketPair::directory_behind() const noexcept {
  // One that joins is not waited for while the other is there.
  const bool either = joining_[0].directory_read || joining_[1].directory_read;
  for (std::size_t source = 0; source < FeedMerge::kSources; ++source)
    if ((!either || joining_[source].directory_read) && sources_[source].directory_behind())
      return true;
  return false;
}

bool MarketPair::image(std::uint32_t instrument, wire::BookImage& out) noexcept {
  for (const bool followed : {true, false})
    for (std::size_t source = 0; source < FeedMerge::kSources; ++source)
      if (merge_.can_follow(source) == followed && sources_[source].image(instrument, out) &&
          merge_.current(source, out))
        return true;
  return false;
}

// The word is as of position word_at in the ring: FeedMerge gets it behind the updates up to there,
// and ahead of all later ones.
void MarketPair::settle_word(std::size_t source, std::uint64_t behind) noexcept {
  Joining& joining = joining_[source];
  if (!joining.word_waits || sources_[source].position() < joining.word_at + behind) [[likely]]
    return;
  joining.word_waits = false;
  merge_.set_word(source, joining.word, joining.place);
}

void MarketPair::on_live(std::size_t source) noexcept {
  merge_.end_adoption(source);
  if (merge_.numbered(source)) return;
  const link::Watermark& watermark = sources_[source].watermark();
  Joining& joining = joining_[source];
  joining.word = watermark.program_word;
  joining.place = watermark.program_place;
  joining.word_at = watermark.published_sequence;
  joining.word_waits = true;
}

bool MarketPair::on_directory(std::size_t source, const wire::DirectoryEntry& row) noexcept {
  if (joining_[source].refused) return false;
  if (names_.confirm(row) != Identities::Verdict::kOther) return true;
  joining_[source].refused = true;
  refused_[source].add();
  merge_.set_ready(source, false);
  return false;
}

}  // namespace tickpath::market
