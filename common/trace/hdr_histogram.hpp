// A histogram that the tools of HdrHistogram read: values to three significant digits, from 1 ns to
// an hour. Tools only; one thread.
//
// Layout of the counts and their encoding, version 2: HdrHistogram (Java), AbstractHistogram's
// countsArrayIndex() and encodeIntoByteBuffer(), and ZigZagEncoding (LEB128-64b9B). An encoded
// histogram is big-endian: cookie 0x1c849313 | payload length | normalizing index offset 0 | digits
// (each of 4 bytes) | lowest discernible value | highest trackable value | conversion ratio, a
// double (each of 8 bytes) | counts. Each count is a ZigZag LEB128 number; a negative one stands
// for as many zeros. A compressed one: cookie 0x1c849314 | length | the above as a zlib stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tickpath::trace {

class HdrHistogram {
 public:
  static constexpr int kDigits = 3;
  static constexpr std::uint64_t kHighest = 3'600'000'000'000;  // an hour in nanoseconds

  HdrHistogram();

  // Below 0 counts as 0, above kHighest as that.
  void record(std::int64_t value);
  void clear();

  std::uint64_t total() const noexcept { return total_; }
  std::uint64_t max() const noexcept { return max_; }  // as recorded; 0: nothing was
  // The largest value that counts as the same as the one that at least this share of all do not
  // exceed. percent: from 0 to 100. 0 where nothing was recorded.
  std::uint64_t value_at(double percent) const;

  // Compressed and in base 64, as a line of an interval log has it. Throws Error where zlib fails.
  std::string encoded() const;
  // Uncompressed, as described above.
  std::string encoded_bytes() const;
  // What outputPercentileDistribution() of HdrHistogram prints, with five steps to each half of the
  // distance to 100 %: value, percentile, count so far, 1 / (1 - percentile).
  std::string percentiles_text() const;

 private:
  std::uint64_t highest_equivalent(std::size_t index) const noexcept;

  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t max_ = 0;
};

std::string base64(const std::string& bytes);  // RFC 4648, section 4, with padding

}  // namespace tickpath::trace
