#include <immintrin.h>

#include "common/fix/codec.hpp"

namespace tickpath::fix {
namespace {

constexpr std::string_view kBegin = "8=FIX";
constexpr std::string_view kBeginField =
    "8=FIX.4.2\x01"
    "9=";

// Bytes up to the next place where a message could begin, searching after the first byte; the tail
// that could be the start of one is kept.
Frame skip(std::string_view bytes) noexcept {
  std::size_t next = bytes.find(kBegin, 1);
  if (next == std::string_view::npos) {
    next = bytes.size();
    for (std::size_t keep = kBegin.size() - 1; keep > 0; --keep) {
      if (bytes.size() > keep && bytes.substr(bytes.size() - keep) == kBegin.substr(0, keep)) {
        next = bytes.size() - keep;
        break;
      }
    }
  }
  return {FrameStatus::kGarbled, next};
}

unsigned digit(char c) noexcept { return static_cast<unsigned>(c - '0'); }

// "8=<version>" SOH "9=": returns the offset behind it, 0 if the bytes are something else, or npos
// if they end too early to tell. Another version than ours is framed all the same: the session
// layer answers it.
std::size_t after_begin(std::string_view bytes) noexcept {
  if (bytes.substr(0, kBeginField.size()) == kBeginField) return kBeginField.size();
  const std::string_view known = kBegin.substr(0, bytes.size());
  if (bytes.substr(0, known.size()) != known) return 0;
  constexpr std::size_t kVersionMax = 16;  // the longest BeginString ever is "FIXT.1.1"
  const std::size_t soh = bytes.find(kSoh);
  if (soh == std::string_view::npos) return bytes.size() > kVersionMax ? 0 : std::string_view::npos;
  if (soh > kVersionMax) return 0;
  if (bytes.size() < soh + 3) return std::string_view::npos;
  return bytes[soh + 1] == '9' && bytes[soh + 2] == '=' ? soh + 3 : 0;
}

}  // namespace

std::uint8_t checksum(std::string_view bytes) noexcept {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  __m256i sums = _mm256_setzero_si256();
  for (; left >= 32; left -= 32, at += 32) {
    const __m256i chunk = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    sums = _mm256_add_epi64(sums, _mm256_sad_epu8(chunk, _mm256_setzero_si256()));
  }
  const __m128i half =
      _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  auto sum = static_cast<unsigned>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
  for (; left != 0; --left) sum += static_cast<unsigned char>(*at++);
  return static_cast<std::uint8_t>(sum);
}

int trailer_sum(std::string_view trailer) noexcept {
  if (trailer.size() != kTrailerBytes || trailer.substr(0, 3) != "10=" || trailer[6] != kSoh)
    return -1;
  unsigned sum = 0;
  for (const char each : trailer.substr(3, 3)) {
    if (digit(each) > 9) return -1;
    sum = sum * 10 + digit(each);
  }
  return static_cast<int>(sum);
}

Frame frame(std::string_view bytes, std::size_t length_max) noexcept {
  if (bytes.empty()) return {FrameStatus::kIncomplete, 0};
  std::size_t at = after_begin(bytes);
  if (at == 0) return skip(bytes);
  if (at == std::string_view::npos) return {FrameStatus::kIncomplete, 0};
  // BodyLength: at most 7 digits; more than any message.
  std::size_t body = 0;
  const std::size_t digits_at = at;
  for (; at < bytes.size() && digit(bytes[at]) <= 9; ++at) {
    body = body * 10 + digit(bytes[at]);
    if (at - digits_at == 7) return skip(bytes);
  }
  if (at == bytes.size()) return {FrameStatus::kIncomplete, 0};
  if (bytes[at] != kSoh || at == digits_at) return skip(bytes);
  const std::size_t body_end = at + 1 + body;
  const std::size_t length = body_end + kTrailerBytes;
  if (length > length_max) return {FrameStatus::kTooLong, length};
  if (bytes.size() < length) return {FrameStatus::kIncomplete, 0};
  const int said = trailer_sum(bytes.substr(body_end, kTrailerBytes));
  if (bytes[body_end - 1] != kSoh || said < 0) return skip(bytes);
  if (said != checksum(bytes.substr(0, body_end))) return {FrameStatus::kBadChecksum, length};
  return {FrameStatus::kMessage, length};
}

}  // namespace tickpath::fix
