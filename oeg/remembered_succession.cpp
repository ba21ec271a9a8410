#include "oeg/remembered_succession.hpp"

#include "oeg/pair_notes.hpp"

namespace tickpath::oeg {
namespace {

constexpr std::uint64_t kSavedNs = 1'000'000'000;

// The witness may hold a claim of the other one, which may have given it up and be starting again
// to join. It is waited for so long: longer than that start takes.
constexpr std::uint64_t kOtherAnswersNs = 1'000'000'000;

}  // namespace

std::optional<Succession::Role> RememberedSuccession::remember(bool leading,
                                                               std::uint64_t now_ns) noexcept {
  if (rules_ == stored_) return std::nullopt;
  const Succession::Role before = stored_.role();
  memory_.store(rules_);
  if (rules_.leads_alone() && !stored_.leads_alone() && leading) {
    alone_unsaved_ = true;
    alone_since_ns_ = now_ns;
  }
  stored_ = rules_;
  return before;
}

void RememberedSuccession::look_at_disk(std::uint64_t now_ns) noexcept {
  if (!alone_unsaved_) [[likely]]
    return;
  const bool saved = memory_.is_saved();
  if (!saved && now_ns - alone_since_ns_ < kSavedNs) return;
  alone_unsaved_ = false;
  if (!saved) hot_log_.note(PairNote::kUnsaved, rules_.word().epoch);
}

void RememberedSuccession::end_vain_claim(std::uint64_t now_ns) noexcept {
  if (!rules_.other_came_first())
    other_first_since_ns_ = 0;
  else if (other_first_since_ns_ == 0)
    other_first_since_ns_ = now_ns;
  else if (now_ns - other_first_since_ns_ > kOtherAnswersNs)
    rules_.renounce();
}

}  // namespace tickpath::oeg
