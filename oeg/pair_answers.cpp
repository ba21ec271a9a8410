#include "oeg/pair_answers.hpp"

#include <charconv>
#include <system_error>

#include "common/wire/refusals.hpp"

namespace tickpath::oeg {

// What it says of itself is all that can be known: a key is of a role.
std::string why_stranger(const OegConfig& config, const wire::Hello& hello) {
  if (hello.parameters[0] != config.pair_id())
    return wire::name_of(hello) +
           " is of another pair: both oegs of one have the same venue.sender, venue.target, "
           "venue.version, venue_number and mdh.shard";
  if (hello.instance == config.pair.place) return "both oegs of the pair have the same pair.place";
  return {};
}

std::string leads_answer(wire::Leadership word) {
  return std::string(wire::kLeadsInEpoch) + std::to_string(word.epoch) +
         std::string(word.alone ? wire::kNeedsNobody : std::string_view{});
}

namespace {

// The epoch behind `text`, and what follows it in `rest`.
std::optional<std::uint32_t> epoch_in(std::string_view answer, std::string_view text,
                                      std::string_view& rest) {
  const std::size_t at = answer.find(text);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view number = answer.substr(at + text.size());
  std::uint32_t epoch = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), epoch);
  if (error != std::errc{}) return std::nullopt;
  rest = std::string_view(end, number.data() + number.size());
  return epoch;
}

}  // namespace

std::optional<wire::Leadership> leads_by(std::string_view answer, std::uint8_t place) {
  std::string_view rest;
  const auto epoch = epoch_in(answer, wire::kLeadsInEpoch, rest);
  if (!epoch) return std::nullopt;
  return wire::Leadership{*epoch, place, rest.starts_with(wire::kNeedsNobody)};
}

std::string waits_answer(wire::Leadership pair) {
  return std::string(wire::kWaitsForWord) + std::to_string(pair.epoch);
}

std::optional<wire::Leadership> waits_by(std::string_view answer, std::uint8_t leader) {
  std::string_view rest;
  const auto epoch = epoch_in(answer, wire::kWaitsForWord, rest);
  if (!epoch) return std::nullopt;
  return wire::Leadership{*epoch, leader, false};
}

}  // namespace tickpath::oeg
