// A symbol's row in a book home, found by READ and, by writers, given by COMPARE_SWAP and
// FETCH_ADD; and who writes a venue's book of it.
//
// Buckets of four entries, filled from the front, and never emptied: a search ends at the first
// free entry. A writer that dies between two steps leaves a symbol without a row, which the next
// one that looks for it gives it (what the dead one may have counted is lost: one row). A writer
// that was slow finds that the symbol has a row by then, and gives the one that it counted to its
// next symbol.
#pragma once

#include <cstdint>
#include <string>

#include "common/link/detail/one_sided.hpp"
#include "common/stores/home/layout.hpp"

namespace tickpath::home {

// Polling thread of the connection, but for construction. One search at a time; nothing waits.
class HomeIndex final : public link::OneSidedClient {
 public:
  enum class Result : std::uint8_t {
    kPending,
    kFound,   // row(); of a writer: claimed
    kOther,   // row(); a writer that is not known to be over has claimed it: claimed_by()
    kAbsent,  // the symbol has no row
    kFull,    // nor is there one left
    kFailed,  // the connection
  };

  HomeIndex(rdma::Device& device, const std::string& name)
      : OneSidedClient(device, 2 * kCacheLineBytes, name) {}

  void attach(link::Connection& connection, const HomeRegions& regions,
              const HomeLayout& layout) noexcept;
  void detach() noexcept {
    leave();
    step_ = Step::kIdle;
  }

  // False: a search is under way, or nothing can be posted now.
  bool find(std::uint64_t symbol) noexcept;
  // Gives the symbol a row where it has none, and claims this venue's book of it for `writer`,
  // unless one claimed it whose epoch is not over: lanes, the words of all lanes as READ last.
  bool claim(std::uint64_t symbol, std::uint32_t venue, wire::Writer writer,
             std::span<const std::uint64_t> lanes) noexcept;
  // After polling the connection: goes on; anything but kPending ends it.
  Result step() noexcept;
  std::uint32_t row() const noexcept { return row_; }
  wire::Writer claimed_by() const noexcept { return claimed_by_; }

 private:
  enum class Step : std::uint8_t { kIdle, kBucket, kName, kCount, kRow, kClaim, kSwap };

  void on_answer(bool success) noexcept override { (success ? arrived_ : failed_) = true; }
  const IndexEntry* bucket() const noexcept {
    return reinterpret_cast<const IndexEntry*>(memory());
  }
  std::uint64_t answer() const noexcept {
    return *reinterpret_cast<const std::uint64_t*>(memory() + kCacheLineBytes);
  }
  // Looks at an entry that another writer has named, until we give it a row ourselves.
  static constexpr std::uint32_t kPatience = 1000;

  bool ask(Step step, rdma::Opcode opcode, std::size_t offset, std::uint64_t first = 0,
           std::uint64_t second = 0) noexcept;
  bool ask_bucket() noexcept;
  Result look() noexcept;
  Result named() noexcept;
  Result give_row() noexcept;
  Result with_row(std::uint64_t row_plus_one) noexcept;
  Result claimed() noexcept;
  Result go(bool asked) noexcept { return asked ? Result::kPending : Result::kFailed; }
  bool is_over(wire::Writer writer) const noexcept;
  std::size_t entry_offset() const noexcept {
    return layout_.bucket(bucket_) + entry_ * sizeof(IndexEntry);
  }

  rdma::RemoteRegion words_;
  HomeLayout layout_;
  Step step_ = Step::kIdle;
  bool arrived_ = false;
  bool failed_ = false;
  bool insert_ = false;
  std::uint64_t symbol_ = 0;
  std::uint32_t venue_ = 0;
  wire::Writer writer_;
  std::array<std::uint64_t, link::kLanesMax> lanes_{};
  std::size_t bucket_ = 0;
  std::size_t looked_at_ = 0;  // buckets
  std::size_t entry_ = 0;
  std::uint32_t patience_ = 0;
  std::uint64_t wanted_ = 0;     // what a COMPARE_SWAP expects
  std::uint64_t spare_row_ = 0;  // plus one: counted, and given to no symbol yet; 0: none
  std::uint32_t row_ = 0;
  wire::Writer claimed_by_;
};

}  // namespace tickpath::home
