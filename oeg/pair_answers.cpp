#include "oeg/pair_answers.hpp"

#include <charconv>
#include <system_error>

#include "common/wire/refusals.hpp"

namespace tickpath::oeg {

std::string leads_answer(wire::Leadership word) {
  return std::string(wire::kLeadsInEpoch) + std::to_string(word.epoch) +
         std::string(word.alone ? wire::kNeedsNobody : std::string_view{});
}

std::optional<wire::Leadership> leads_by(std::string_view answer, std::uint8_t place) {
  const std::size_t at = answer.find(wire::kLeadsInEpoch);
  if (at == std::string_view::npos) return std::nullopt;
  wire::Leadership word{.leader = place};
  const std::string_view number = answer.substr(at + wire::kLeadsInEpoch.size());
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), word.epoch);
  if (error != std::errc{}) return std::nullopt;
  word.alone = std::string_view(end, number.data() + number.size()).starts_with(wire::kNeedsNobody);
  return word;
}

}  // namespace tickpath::oeg
