#include "common/trace/hdr_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <zlib.h>

#include "common/base/error.hpp"
#include "common/base/format.hpp"

namespace tickpath::trace {
namespace {

// Names and figures are those of HdrHistogram for three digits and units of 1: 2,048 sub-buckets
// resolve 2,000 to 1.
constexpr int kSubBucketHalfMagnitude = 10;
constexpr std::uint64_t kSubBucketHalf = std::uint64_t{1} << kSubBucketHalfMagnitude;
constexpr std::uint64_t kSubBuckets = 2 * kSubBucketHalf;
constexpr std::uint64_t kSubBucketMask = kSubBuckets - 1;
constexpr std::uint32_t kCookie = 0x1c849303 | 0x10;
constexpr std::uint32_t kCompressedCookie = 0x1c849304 | 0x10;
constexpr int kStepsToHalf = 5;

std::size_t index_of(std::uint64_t value) noexcept {
  const int bucket =
      static_cast<int>(std::bit_width(value | kSubBucketMask)) - (kSubBucketHalfMagnitude + 1);
  const std::uint64_t sub_bucket = value >> bucket;
  return ((static_cast<std::size_t>(bucket) + 1) << kSubBucketHalfMagnitude) + sub_bucket -
         kSubBucketHalf;
}

// The smallest value of a slot, and how many values it has.
struct Slot {
  std::uint64_t first;
  std::uint64_t width;
};

Slot slot_of(std::size_t index) noexcept {
  const auto bucket = static_cast<int>(index >> kSubBucketHalfMagnitude) - 1;
  if (bucket < 0) return {index, 1};
  const std::uint64_t sub_bucket = (index & (kSubBucketHalf - 1)) + kSubBucketHalf;
  return {sub_bucket << bucket, std::uint64_t{1} << bucket};
}

constexpr int kBuckets =
    static_cast<int>(std::bit_width(HdrHistogram::kHighest)) - kSubBucketHalfMagnitude;

template <class Integer>
void put_big_endian(std::string& bytes, Integer value) {
  for (int shift = static_cast<int>(sizeof(Integer)) * 8 - 8; shift >= 0; shift -= 8)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xff);
}

// ZigZag LEB128-64b9B: seven bits a byte, the ninth byte has eight.
void put_count(std::string& bytes, std::int64_t count) {
  auto value = static_cast<std::uint64_t>(count) << 1 ^ static_cast<std::uint64_t>(count >> 63);
  for (int i = 0; i < 8 && value >= 0x80; ++i, value >>= 7)
    bytes += static_cast<char>((value & 0x7f) | 0x80);
  bytes += static_cast<char>(value);
}

std::string deflated(const std::string& bytes) {
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  if (::compress(reinterpret_cast<Bytef*>(out.data()), &size,
                 reinterpret_cast<const Bytef*>(bytes.data()),
                 static_cast<uLong>(bytes.size())) != Z_OK)
    throw Error("zlib cannot compress a histogram");
  out.resize(size);
  return out;
}

}  // namespace

HdrHistogram::HdrHistogram() : counts_(index_of(kHighest) + 1) {}

void HdrHistogram::record(std::int64_t value) {
  const auto known = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(value, 0, static_cast<std::int64_t>(kHighest)));
  ++counts_[index_of(known)];
  ++total_;
  max_ = std::max(max_, known);
}

void HdrHistogram::clear() {
  std::ranges::fill(counts_, 0);
  total_ = max_ = 0;
}

std::uint64_t HdrHistogram::highest_equivalent(std::size_t index) const noexcept {
  const Slot slot = slot_of(index);
  return slot.first + slot.width - 1;
}

std::uint64_t HdrHistogram::value_at(double percent) const {
  const double exact = std::min(percent, 100.0) / 100 * static_cast<double>(total_);
  const auto wanted = static_cast<std::uint64_t>(std::max(std::ceil(exact - 1e-9), 1.0));
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if ((passed += counts_[i]) >= wanted) return highest_equivalent(i);
  return 0;
}

std::string HdrHistogram::encoded_bytes() const {
  std::string counts;
  const std::size_t end = index_of(max_) + 1;
  for (std::size_t i = 0; i < end;) {
    std::size_t zeros = 0;
    while (i + zeros < end && counts_[i + zeros] == 0) ++zeros;
    if (zeros == 0) {
      put_count(counts, static_cast<std::int64_t>(counts_[i++]));
      continue;
    }
    // One zero stands for itself, several for their number.
    put_count(counts, zeros == 1 ? 0 : -static_cast<std::int64_t>(zeros));
    i += zeros;
  }
  std::string bytes;
  put_big_endian(bytes, kCookie);
  put_big_endian(bytes, static_cast<std::uint32_t>(counts.size()));
  put_big_endian(bytes, std::uint32_t{0});
  put_big_endian(bytes, static_cast<std::uint32_t>(kDigits));
  put_big_endian(bytes, std::uint64_t{1});
  put_big_endian(bytes, kHighest);
  put_big_endian(bytes, std::bit_cast<std::uint64_t>(1.0));
  return bytes + counts;
}

std::string HdrHistogram::encoded() const {
  const std::string stream = deflated(encoded_bytes());
  std::string bytes;
  put_big_endian(bytes, kCompressedCookie);
  put_big_endian(bytes, static_cast<std::uint32_t>(stream.size()));
  return base64(bytes + stream);
}

std::string HdrHistogram::percentiles_text() const {
  std::string text =
      formatted("%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  const auto total = static_cast<double>(total_);
  double sum = 0, squares = 0, level = 0;
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < counts_.size() && passed < total_; ++i) {
    if (counts_[i] == 0) continue;
    passed += counts_[i];
    const double share = 100 * static_cast<double>(passed) / total;  // percent
    const auto value = static_cast<double>(highest_equivalent(i));
    // Levels get closer to 100 %: five to each half of what is left. The last value has one line.
    for (bool first = true; level <= share && (first || passed < total_); first = false) {
      text += formatted("%12.3f %2.12f %10llu %14.2f\n", value, level / 100,
                        static_cast<unsigned long long>(passed), 1 / (1 - level / 100));
      const double halves = std::floor(std::log2(100 / (100 - level))) + 1;
      level += 100 / (kStepsToHalf * std::exp2(halves));
    }
    const Slot slot = slot_of(i);
    const double middle = static_cast<double>(slot.first) + static_cast<double>(slot.width / 2);
    sum += middle * static_cast<double>(counts_[i]);
    squares += middle * middle * static_cast<double>(counts_[i]);
  }
  if (total_ != 0)
    text +=
        formatted("%12.3f %2.12f %10llu\n", static_cast<double>(highest_equivalent(index_of(max_))),
                  1.0, static_cast<unsigned long long>(total_));
  const double mean = total_ == 0 ? 0 : sum / total;
  const double variance = total_ == 0 ? 0 : std::max(0.0, squares / total - mean * mean);
  text += formatted("#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean, std::sqrt(variance));
  text += formatted("#[Max     = %12.3f, Total count    = %12llu]\n",
                    static_cast<double>(total_ == 0 ? 0 : highest_equivalent(index_of(max_))),
                    static_cast<unsigned long long>(total_));
  return text + formatted("#[Buckets = %12d, SubBuckets     = %12llu]\n", kBuckets,
                          static_cast<unsigned long long>(kSubBuckets));
}

std::string base64(const std::string& bytes) {
  constexpr const char* kDigitsOf64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : kDigitsOf64[three >> (18 - 6 * j) & 0x3f];
  }
  return text;
}

}  // namespace tickpath::trace
