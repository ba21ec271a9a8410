#include "common/rdma/shm/freedoms.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/random.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/copy.hpp"
#include "common/rdma/shm/memory.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr const char* kVariable = "TICKPATH_SHM_FREEDOMS";

// Written before freedoms_taken, and never while somebody posts.
Freedoms taken;
std::atomic<std::uint64_t> threads{0};

Random& random() noexcept {
  thread_local Random own(taken.seed + (threads.fetch_add(1, std::memory_order_relaxed) << 32));
  return own;
}

// Most often none: what is between two pauses is as quick as ever.
void pause_perhaps() noexcept {
  if (taken.pause == 0 || random().below(8) != 0) return;
  for (std::uint64_t i = random().below(taken.pause) + 1; i != 0; --i) cpu_relax();
}

// Calls visit(0) to visit(count - 1), in one of count * phi(count) orders.
template <class Visit>
void in_any_order(std::size_t count, Visit&& visit) noexcept {
  if (count == 0) return;
  std::size_t step = random().below(count) + 1;
  while (std::gcd(step, count) != 1) step = step % count + 1;
  std::size_t at = random().below(count);
  for (std::size_t i = 0; i < count; ++i) {
    visit(at);
    at = (at + step) % count;
  }
}

// Calls piece(begin, end) for the pieces of the offsets [from, to), in any order, cut where the
// address is a multiple of `unit`.
template <class Piece>
void in_pieces(std::uintptr_t address, std::size_t from, std::size_t to, std::size_t unit,
               Piece&& piece) noexcept {
  if (from == to) return;
  const std::uintptr_t first = (address + from) / unit;
  in_any_order((address + to - 1) / unit - first + 1, [&](std::size_t index) {
    piece(std::max((first + index) * unit, address + from) - address,
          std::min((first + index + 1) * unit, address + to) - address);
  });
}

// The lines of [address, address + length) in any order, and in each its words of `size` bytes.
template <class Piece>
void scatter(std::uintptr_t address, std::size_t length, std::size_t size, Piece&& piece) noexcept {
  in_pieces(address, 0, length, kCacheLineBytes, [&](std::size_t from, std::size_t to) {
    in_pieces(address, from, to, size, piece);
    pause_perhaps();
  });
}

// One store to, or load from, the peer's memory, aligned there. Relaxed: in no order.
template <class Word>
void move_whole(std::byte* to, const std::byte* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(word, std::memory_order_relaxed);
}

template <class Word>
void take_whole(std::byte* to, const std::byte* from) noexcept {
  // atomic_ref<const T> arrives with C++26; nothing is written through it.
  const Word word = std::atomic_ref<Word>(*reinterpret_cast<Word*>(const_cast<std::byte*>(from)))
                        .load(std::memory_order_relaxed);
  std::memcpy(to, &word, sizeof(word));
}

// One RDMA atomic at a time, whoever asks for it: the lock stands for the device. The kernel's,
// because a process that ends in between must not keep it; each thread has its own description of
// the file, as those of one description share the lock.
class DeviceLock {
 public:
  DeviceLock() noexcept {
    while (::flock(file(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~DeviceLock() { ::flock(file(), LOCK_UN); }
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  static int file() noexcept {
    thread_local const UniqueFd own = [] {
      const std::string path = "/dev/shm/tickpath_freedoms_" + std::to_string(::geteuid());
      UniqueFd opened(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (!opened.valid()) std::abort();  // a test that goes on without it would prove nothing
      return opened;
    }();
    return own.get();
  }
};

std::uint64_t number(std::string_view text, std::string_view whole) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty())
    throw SetupError(SetupCause::kSystem, std::string(kVariable) + "=\"" + std::string(whole) +
                                              "\": \"" + std::string(text) + "\" is no number");
  return value;
}

}  // namespace

Freedoms parse_freedoms(std::string_view text) {
  constexpr std::uint64_t kPauseMax = 1'000'000;
  Freedoms freedoms;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view each = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), each.size() + 1));
    const std::string_view name = each.substr(0, each.find('='));
    const std::string_view value = each.substr(std::min(each.size(), name.size() + 1));
    if (name == "seed") {
      freedoms.seed = number(value, text);
    } else if (name == "pause") {
      freedoms.pause = static_cast<std::uint32_t>(std::min(number(value, text), kPauseMax));
    } else {
      throw SetupError(SetupCause::kSystem, std::string(kVariable) + "=\"" + std::string(text) +
                                                "\": \"" + std::string(each) +
                                                "\" is neither seed=NUMBER nor pause=NUMBER");
    }
  }
  return freedoms;
}

void take_freedoms(std::optional<Freedoms> freedoms) noexcept {
  if (freedoms) taken = *freedoms;
  freedoms_taken.store(freedoms.has_value(), std::memory_order_relaxed);
}

void take_freedoms_of_environment() {
  static const bool once = [] {
    const char* const text = std::getenv(kVariable);
    if (text != nullptr) take_freedoms(parse_freedoms(text));
    return true;
  }();
  (void)once;
}

void place_freely(std::byte* to, const std::byte* from, std::size_t length) noexcept {
  const std::size_t last = length >= 8 ? 8 : 0;
  scatter(reinterpret_cast<std::uintptr_t>(to), length - last, 4,
          [&](std::size_t begin, std::size_t end) {
            if (end - begin == 4) return move_whole<std::uint32_t>(to + begin, from + begin);
            for (; begin < end; ++begin) move_whole<std::uint8_t>(to + begin, from + begin);
          });
  if (last != 0) store_last_word(to + length - 8, from + length - 8);
}

void fetch_freely(std::byte* to, const std::byte* from, std::size_t length) noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);  // as in fetch()
  scatter(reinterpret_cast<std::uintptr_t>(from), length, 8,
          [&](std::size_t begin, std::size_t end) {
            if (end - begin == 8) return take_whole<std::uint64_t>(to + begin, from + begin);
            for (; begin < end; ++begin) take_whole<std::uint8_t>(to + begin, from + begin);
          });
  std::atomic_thread_fence(std::memory_order_acquire);
}

std::uint64_t compare_swap_freely(std::uint64_t* word, std::uint64_t compare,
                                  std::uint64_t swap) noexcept {
  const DeviceLock lock;
  const std::atomic_ref<std::uint64_t> there(*word);
  const std::uint64_t old = there.load(std::memory_order_seq_cst);
  pause_perhaps();
  if (old == compare) there.store(swap, std::memory_order_seq_cst);
  return old;
}

std::uint64_t fetch_add_freely(std::uint64_t* word, std::uint64_t add) noexcept {
  const DeviceLock lock;
  const std::atomic_ref<std::uint64_t> there(*word);
  const std::uint64_t old = there.load(std::memory_order_seq_cst);
  pause_perhaps();
  there.store(old + add, std::memory_order_seq_cst);
  return old;
}

}  // namespace tickpath::rdma::detail
