#include "common/wire/shard.hpp"

#include <charconv>

namespace tickpath::wire {

std::optional<Shard> Shard::parse(std::string_view text) noexcept {
  if (text.empty()) return Shard{};
  unsigned number = 0;
  unsigned count = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, number);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, count);
  if (second.ec != std::errc() || second.ptr != end || number == 0 || number > count ||
      count > kShardsMax)
    return std::nullopt;
  return Shard{static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(count)};
}

}  // namespace tickpath::wire
