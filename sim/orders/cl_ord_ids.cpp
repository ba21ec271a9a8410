#include "sim/orders/cl_ord_ids.hpp"

#include <bit>
#include <random>

#include "common/base/error.hpp"

namespace tickpath::sim {
namespace {

__extension__ using Wide = unsigned __int128;

// Eight bytes at a time, each folded in by a 128-bit product, of which the halves are mixed.
// Seeded: a peer that chooses its ids cannot choose their places, so that searches stay short.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(std::uint64_t seed, std::uint8_t session, std::string_view text) noexcept {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;  // 2^64 over the golden ratio
  std::uint64_t hash = mixed(seed ^ session, kOdd ^ text.size());
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = text.size() < sizeof word ? text.size() : sizeof word;
    std::memcpy(&word, text.data(), bytes);
    hash = mixed(hash ^ word, kOdd ^ seed);
    text.remove_prefix(bytes);
  }
  return hash;
}

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

ClOrdIds::ClOrdIds(std::uint32_t ids_max, bool touched) : ids_max_(ids_max), seed_(random_seed()) {
  if (ids_max == 0 || ids_max > 1u << 30)
    throw Error("ClOrdIDs: between 1 and 2^30 must be allowed for");
  const std::size_t slots = std::bit_ceil(std::size_t{ids_max} * 2);
  mask_ = slots - 1;
  entries_ = std::make_unique_for_overwrite<Entry[]>(ids_max);
  slots_ = std::make_unique<std::uint32_t[]>(slots);
  if (touched) std::memset(entries_.get(), 0, sizeof(Entry) * ids_max);
}

// Where it is, or would be. Half full at most, so that there is an end.
std::size_t ClOrdIds::slot_of(std::uint8_t session, std::string_view text) const noexcept {
  std::size_t at = hash_of(seed_, session, text) & mask_;
  for (; slots_[at] != 0; at = (at + 1) & mask_) {
    const Entry& entry = entries_[slots_[at] - 1];
    if (entry.session == session && entry.view() == text) break;
  }
  return at;
}

std::uint64_t ClOrdIds::find(std::uint8_t session, std::string_view text) const noexcept {
  return slots_[slot_of(session, text)];
}

std::uint64_t ClOrdIds::intern(std::uint8_t session, std::string_view text) noexcept {
  const std::size_t at = slot_of(session, text);
  if (slots_[at] != 0) return slots_[at];
  if (used_ == ids_max_) return 0;
  const ShortText kept(text);
  Entry& entry = entries_[used_];
  std::memcpy(entry.text, kept.view().data(), kept.view().size());
  entry.length = static_cast<std::uint8_t>(kept.view().size());
  entry.session = session;
  slots_[at] = ++used_;
  return used_;
}

std::uint8_t Accounts::intern(std::string_view text, bool echoed) noexcept {
  for (std::uint8_t i = 0; i < used_; ++i)
    if (entries_[i].echoed == echoed && entries_[i].text.view() == text)
      return static_cast<std::uint8_t>(i + 1);
  if (used_ == entries_.size()) return 0;
  entries_[used_] = {ShortText(text), echoed};
  return ++used_;
}

}  // namespace tickpath::sim
