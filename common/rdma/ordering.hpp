// Ordering between a peer's RDMA operations and this CPU, by name. Code that polls memory which a
// peer WRITEs, or that prepares memory which a peer READs, uses these and nothing else.
//
// What a provider must give for them to work (the placement guarantee):
//  - The last 8 bytes of a WRITE of at least 8 bytes become visible after all its other bytes, and
//    at once if they are 8-byte aligned at the target. shm: a release store, always. verbs: PCIe
//    posted writes of one request to one cache line; a slot is therefore exactly one line. Where a
//    device does not promise it, use WRITE_WITH_IMM and a completion.
//  - A later request of the same queue pair becomes visible after an earlier one (RC ordering).
//  - A READ is executed behind the WRITEs and SENDs that were posted before it: who stores a word,
//  then
//    looks at what such a WRITE placed and finds the old, is seen by that READ.
//  - A READ fetches aligned 8-byte words whole, but several words in no particular order: records
//    longer than a word need their own check (a second READ of a version).
#pragma once

#include <atomic>
#include <cstdint>

namespace tickpath::rdma {

// Reads the word that the peer's WRITE placed last. If it is the awaited one, the bytes before it
// in the same WRITE, and everything of earlier requests, may be read.
//
//   if (load_placed(slot.sequence) == expected) consume(slot.payload);
inline std::uint64_t load_placed(const std::uint64_t& word) noexcept {
  // Pairs with the release store (shm) or the ordered bus write (NIC) of the word: without acquire
  // the CPU could have read the payload before the word, that is, before the peer wrote it.
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word))
      .load(std::memory_order_acquire);
}

// Orders reads of a record before a second look at a word that tells whether the peer has begun to
// overwrite it: the slot before it in a ring (RC ordering: written before this one), a version.
//
//   copy(slot.payload);
//   recheck_fence();
//   if (load_placed(slot_before.sequence) >= expected) overrun();
inline void recheck_fence() noexcept {
  // Pairs with the order of the peer's stores: without it the second look could be taken before
  // the copy, and a torn copy would pass.
  std::atomic_thread_fence(std::memory_order_acquire);
}

// Makes everything written before visible to a peer's READ that sees this word.
//
//   record.value = v; store_for_peer(record.version, n);
inline void store_for_peer(std::uint64_t& word, std::uint64_t value) noexcept {
  // Pairs with the peer's READ of the word: without release the peer may fetch the new word with
  // the old record.
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

}  // namespace tickpath::rdma
