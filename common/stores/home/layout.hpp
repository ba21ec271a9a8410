// How a book home's memory is laid out: a header, one region of words that are changed by atomics,
// and a region for each lane. Into a lane its writer alone WRITEs (common/link/shared_records.hpp).
//
//   header   READ
//     0      HomeHeader, fixed
//   words    READ; writers: atomics too
//     0      wire::Lane::word() of each lane
//     64     rows in use, raised by FETCH_ADD
//     128    index: IndexEntry, in buckets of four
//            claims: [venue][row], wire::Writer::word() of who writes this venue's book
//            guards of the consolidated books, by row
//            guards of the venues' books, by venue * rows + row
//   lane     READ; its writer: WRITE
//     0      slots of wire::Consolidated, by row
//            slots of wire::VenueBook, by row: a lane writes one venue
//
// What a lane's word and the others are changed by is RDMA atomics, also by the program that owns
// the memory: only among themselves are these atomic (InfiniBand Architecture Specification,
// volume 1, 9.4.5 "Atomic Operations").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/cpu.hpp"
#include "common/link/shared_records.hpp"
#include "common/rdma/rdma.hpp"
#include "common/wire/home.hpp"

namespace tickpath::home {

inline constexpr std::uint32_t kRowsMax = 65'536;

struct HomeShape {
  std::uint32_t rows = 0;    // symbols that there is room for
  std::uint32_t venues = 0;  // 1 to wire::kVenuesMax
  std::uint32_t lanes = 0;   // writers at one time, 1 to link::kLanesMax
};

// 0 magic | 8 version | 12 rows | 16 venues | 20 lanes | 24 reserved
struct HomeHeader {
  static constexpr std::uint64_t kMagic = 0x656d6f686b6f6f62;  // "bookhome" as bytes in memory
  static constexpr std::uint32_t kVersion = 2;                 // 1 had the header in the words
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t rows;
  std::uint32_t venues;
  std::uint32_t lanes;
  std::uint64_t reserved[5];
};
static_assert(sizeof(HomeHeader) == kCacheLineBytes);

// A symbol's place. Each word is changed once, from 0, by COMPARE_SWAP.
struct IndexEntry {
  std::uint64_t symbol;        // wire::symbol_word(); 0: free
  std::uint64_t row_plus_one;  // 0: not given yet
};
inline constexpr std::size_t kBucketEntries = kCacheLineBytes / sizeof(IndexEntry);
static_assert(kBucketEntries == 4);

// Offsets and sizes in bytes.
class HomeLayout {
 public:
  using Quotes = link::SharedSize<wire::Consolidated>;
  using Books = link::SharedSize<wire::VenueBook>;

  HomeLayout() = default;
  explicit HomeLayout(const HomeShape& shape) noexcept : shape_(shape) {
    // At most half full, so that a search looks at two buckets, seldom at more.
    while (buckets_ * kBucketEntries < std::size_t{2} * shape.rows) buckets_ *= 2;
  }
  const HomeShape& shape() const noexcept { return shape_; }

  static constexpr std::size_t kLanes = 0;
  static constexpr std::size_t kRowsUsed = 64;
  static constexpr std::size_t kIndex = 128;
  std::size_t buckets() const noexcept { return buckets_; }
  std::size_t bucket(std::size_t number) const noexcept {
    return kIndex + number * kCacheLineBytes;
  }
  // The bucket in which the search for a symbol's word begins.
  std::size_t first_bucket(std::uint64_t symbol) const noexcept {
    return (symbol * 0x9e3779b97f4a7c15ull) >> 32 & (buckets_ - 1);
  }
  std::size_t claim(std::size_t venue, std::size_t row) const noexcept {
    return kIndex + buckets_ * kCacheLineBytes + (venue * shape_.rows + row) * 8;
  }
  std::size_t quote_guards() const noexcept {
    const std::size_t end = claim(shape_.venues, 0);
    return (end + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  }
  std::size_t book_guards() const noexcept { return quote_guards() + Quotes::guards(shape_.rows); }
  std::size_t words_bytes() const noexcept {
    return book_guards() + Books::guards(std::size_t{shape_.venues} * shape_.rows);
  }
  std::size_t books_in_lane() const noexcept { return Quotes::lane(shape_.rows); }
  std::size_t lane_bytes() const noexcept { return books_in_lane() + Books::lane(shape_.rows); }
  // All that the owner allocates.
  std::size_t total_bytes() const noexcept { return words_bytes() + shape_.lanes * lane_bytes(); }

 private:
  HomeShape shape_;
  std::size_t buckets_ = 1;
};

// What a connection was granted.
struct HomeRegions : link::SharedRegions {
  // Whether memory of this shape fits in it.
  bool hold(const HomeLayout& layout) const noexcept {
    return SharedRegions::hold(layout.words_bytes(), layout.shape().lanes, layout.lane_bytes());
  }
  link::SharedPlace quotes(const HomeLayout& layout) const noexcept {
    return place(layout.quote_guards(), 0, layout.shape().rows, layout.shape().rows);
  }
  link::SharedPlace books(const HomeLayout& layout) const noexcept {
    return place(layout.book_guards(), layout.books_in_lane(),
                 std::size_t{layout.shape().venues} * layout.shape().rows, layout.shape().rows);
  }
};

// Why a header is none that we can read; nullptr: it is one.
inline const char* wrong_with(const HomeHeader& header) noexcept {
  if (header.magic != HomeHeader::kMagic) return "it is no book home";
  if (header.version != HomeHeader::kVersion) return "it is a book home of another version";
  if (header.rows == 0 || header.rows > kRowsMax || header.venues == 0 ||
      header.venues > wire::kVenuesMax || header.lanes == 0 || header.lanes > link::kLanesMax)
    return "its sizes are impossible";
  return nullptr;
}

}  // namespace tickpath::home
