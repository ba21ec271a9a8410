// A record that one writer changes while others read it, locally or by RDMA READ, without locks.
//
// T is striped over 64-byte lines: 56 bytes of payload, then the version, in each line (the layout
// of FaRM, Dragojevic et al., NSDI 2014, section 4). A reader has a whole record when every line
// carries the same even version.
//
//   line 0   payload words 0-6    | version
//   line 1   payload words 7-13   | version      version 0: never written
//   ...                                          odd: being written
//
// The version of the last line is the head: written first (odd) and last (even).
//
// What each combination relies on, besides whole 8-byte words (DESIGN.md has the argument):
//   local writer, local reader:  nothing but the C++ memory model.
//   local writer, READ:          three READs in one doorbell, head, record, head again; RC executes
//                                them in order. Within the record any order will do.
//   WRITE, local reader:         an 8-byte WRITE of the odd head, then the WRITE of the record;
//                                its last word, the head, lands last
//                                (common/rdma/ordering.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/cpu.hpp"
#include "common/link/words.hpp"

namespace tickpath::link {

inline constexpr std::size_t kLinePayloadWords = 7;

// 0 payload[7] | 56 version
struct alignas(kCacheLineBytes) RecordLine {
  std::uint64_t payload[kLinePayloadWords];
  std::uint64_t version;
};
static_assert(sizeof(RecordLine) == kCacheLineBytes && offsetof(RecordLine, version) == 56);

enum class ReadStatus : std::uint8_t {
  kOk,
  kUnchanged,  // read_newer() only: still the version that the caller has
  kEmpty,      // never written
  kTorn,       // a writer was at work: try again later
};

template <Payload T>
class VersionedRecord {
 public:
  static constexpr std::size_t kWords = sizeof(T) / 8;
  static constexpr std::size_t kLines = (kWords + kLinePayloadWords - 1) / kLinePayloadWords;

  VersionedRecord() = default;  // in zeroed memory of a region: never written
  // A private one to send from, that continues a remote record's versions (even).
  explicit VersionedRecord(std::uint64_t version) noexcept : lines_{} { head() = version; }

  // The one writer only. Readers see the old record or the new one, never a mixture.
  void store(const T& value) noexcept {
    Words<T> words;
    std::memcpy(words.data(), &value, sizeof(T));
    const std::uint64_t old = load_word(head(), std::memory_order_relaxed);  // own word
    // Odd first, in every line. The release stores of the payload below keep it first: without it a
    // reader could take new words under the old version.
    for (RecordLine& line : lines_) store_word(line.version, old + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kWords; ++i)
      store_word(lines_[i / kLinePayloadWords].payload[i % kLinePayloadWords], words[i],
                 std::memory_order_release);
    // The head last: its even version tells that everything before it is done. Pairs with the
    // acquire of the head in load(): without it a reader could take old words under the new
    // version.
    for (RecordLine& line : lines_) store_word(line.version, old + 2, std::memory_order_release);
  }

  // Any thread of the process that holds the memory; also on a private copy that a READ filled,
  // then with the head that was READ before it as `expected`.
  ReadStatus load(T& out) const noexcept { return load_expecting(out, version()); }

  ReadStatus load_expecting(T& out, std::uint64_t expected) const noexcept {
    if (expected == 0) return ReadStatus::kEmpty;
    if ((expected & 1) != 0) return ReadStatus::kTorn;
    T copied;
    copy(copied);
    // Pairs with the odd version that store() puts before the payload: if any word above was newer,
    // its line's version is newer here.
    for (const RecordLine& line : lines_)
      if (load_word(line.version, std::memory_order_relaxed) != expected) return ReadStatus::kTorn;
    out = copied;
    return ReadStatus::kOk;
  }

  // One load when nothing changed. `seen` is the caller's version, 0 at first; it is updated on
  // kOk.
  ReadStatus read_newer(T& out, std::uint64_t& seen) const noexcept {
    const std::uint64_t now = version();
    if (now == seen) return now == 0 ? ReadStatus::kEmpty : ReadStatus::kUnchanged;
    const ReadStatus status = load_expecting(out, now);
    if (status == ReadStatus::kOk) seen = now;
    return status;
  }

  // The payload whatever the versions say; while nobody writes it.
  void copy(T& out) const noexcept {
    Words<T> words;
    for (std::size_t i = 0; i < kWords; ++i)
      words[i] = load_word(lines_[i / kLinePayloadWords].payload[i % kLinePayloadWords],
                           std::memory_order_acquire);
    std::memcpy(&out, words.data(), sizeof(T));
  }

  // Even: of the whole record, odd: being written, 0: never written.
  std::uint64_t version() const noexcept { return load_word(head(), std::memory_order_acquire); }

  // Where the head is: what the WRITE and the READs that frame the record aim at.
  static constexpr std::size_t kHeadOffset =
      (kLines - 1) * sizeof(RecordLine) + offsetof(RecordLine, version);

 private:
  std::uint64_t& head() noexcept { return lines_[kLines - 1].version; }
  const std::uint64_t& head() const noexcept { return lines_[kLines - 1].version; }

  RecordLine lines_[kLines];
};

}  // namespace tickpath::link
