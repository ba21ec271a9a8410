// A test mode of the shm provider: it takes every freedom that the standard leaves to an RDMA
// device, and that memory shared by one host's CPUs never takes by itself.
//
//   TICKPATH_SHM_FREEDOMS="seed=1,pause=200"    of every process that is to do so
//
//   READ      fetches its words in any order, with pauses between them. An aligned word of 8 bytes
//             is whole (common/rdma/ordering.hpp), nothing more.
//   WRITE     places its bytes in any order, at most 4 at once, with pauses between them, but for
//             its last 8 bytes, which are last. Of several WRITEs one is placed behind the other.
//   atomics   are atomic among RDMA atomics alone: a load, a pause and a store. What a CPU stores
//             in between is overwritten.
//
// seed decides about orders and pauses (each thread continues it on its own), pause is the longest
// one in turns of the CPU's PAUSE instruction.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tickpath::rdma::detail {

struct Freedoms {
  std::uint64_t seed = 1;
  std::uint32_t pause = 200;
};

// "seed=N,pause=N", either may be missing. Throws SetupError{kSystem} with what is wrong.
Freedoms parse_freedoms(std::string_view text);

// Sets them for the whole process; std::nullopt: none, as at the start. Any thread, while no queue
// pair posts.
void take_freedoms(std::optional<Freedoms> freedoms) noexcept;

// As the environment says, at the first call. Throws what parse_freedoms() throws.
void take_freedoms_of_environment();

// Are any taken? Datapath; one load of a word that does not change.
inline std::atomic<bool> freedoms_taken{false};
inline bool free_to_differ() noexcept {
  // Relaxed: it is set before the queue pairs that look at it are made.
  return freedoms_taken.load(std::memory_order_relaxed);
}

// What place(), fetch() and the atomics do then.
void place_freely(std::byte* to, const std::byte* from, std::size_t length) noexcept;
void fetch_freely(std::byte* to, const std::byte* from, std::size_t length) noexcept;
// Returns the word as it was. `compare` and `swap` or `add`.
std::uint64_t compare_swap_freely(std::uint64_t* word, std::uint64_t compare,
                                  std::uint64_t swap) noexcept;
std::uint64_t fetch_add_freely(std::uint64_t* word, std::uint64_t add) noexcept;

}  // namespace tickpath::rdma::detail
