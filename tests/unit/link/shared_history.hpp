// Says of reads and publications of one record whether they are linearisable.
//
// Versions give the order of the publications, so what is left to check is real time: an operation
// that begins after another one has ended must not have an older version (Herlihy and Wing, 1990,
// section 2; with the order of writes known no search is needed). And every version has one writer,
// whose words are all that a read of it may show.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace tickpath::link::test {

class SharedHistory {
 public:
  // versions_max: publications that there is room for; beyond they are not told apart.
  explicit SharedHistory(std::size_t versions_max)
      : writers_(std::make_unique<std::atomic<std::uint8_t>[]>(versions_max + 1)),
        versions_max_(versions_max) {}

  // Before an operation begins: no result of it may be older.
  std::uint64_t begin() const noexcept { return ended_.load(std::memory_order_seq_cst); }

  // Before a publication of `version` is asked for.
  void attempt(std::uint64_t version) noexcept { raise(attempted_, version); }
  // A version was published, by `writer` (1 to 255).
  void published(std::uint64_t version, std::uint8_t writer, std::uint64_t begun) noexcept {
    if (version <= begun) older_.fetch_add(1);
    if (version <= versions_max_ && writers_[version].exchange(writer) != 0) twice_.fetch_add(1);
    publications_.fetch_add(1);
    raise(ended_, version);
  }
  // A read showed `version`, whole or not.
  void read(std::uint64_t version, bool whole, std::uint64_t begun) noexcept {
    if (!whole) torn_.fetch_add(1, std::memory_order_relaxed);
    if (version < begun) older_.fetch_add(1);
    if (version > attempted_.load(std::memory_order_seq_cst)) unborn_.fetch_add(1);
    raise(ended_, version);
    reads_.fetch_add(1, std::memory_order_relaxed);
  }

  // 0 while its publication is not known to have ended.
  std::uint8_t writer_of(std::uint64_t version) const noexcept {
    return version <= versions_max_ ? writers_[version].load() : 0;
  }
  std::uint64_t reads() const noexcept { return reads_.load(); }
  std::uint64_t publications() const noexcept { return publications_.load(); }
  std::uint64_t torn() const noexcept { return torn_.load(); }
  // Results older than what had ended before they began.
  std::uint64_t older() const noexcept { return older_.load(); }
  // Versions read before anybody had asked for them.
  std::uint64_t unborn() const noexcept { return unborn_.load(); }
  // Versions that two writers believe to have published: one of them is lost.
  std::uint64_t twice() const noexcept { return twice_.load(); }

 private:
  static void raise(std::atomic<std::uint64_t>& highest, std::uint64_t value) noexcept {
    std::uint64_t seen = highest.load(std::memory_order_seq_cst);
    while (seen < value && !highest.compare_exchange_weak(seen, value)) {
    }
  }

  std::unique_ptr<std::atomic<std::uint8_t>[]> writers_;
  std::size_t versions_max_;
  alignas(64) std::atomic<std::uint64_t> attempted_{0};
  alignas(64) std::atomic<std::uint64_t> ended_{0};
  alignas(64) std::atomic<std::uint64_t> reads_{0};
  std::atomic<std::uint64_t> publications_{0}, torn_{0}, older_{0}, unborn_{0}, twice_{0};
};

}  // namespace tickpath::link::test
