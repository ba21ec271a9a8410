#include "common/config/detail/suggest.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/base/nearest.hpp"

namespace tickpath::config::detail {
namespace {

std::string_view last_segment(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

}  // namespace

std::string nearest_key(const SchemaCore& schema, const std::string& key) {
  // A file may hold a key of any length; nothing near it exists beyond this.
  constexpr std::size_t kKeyMax = 200;
  if (key.size() > kKeyMax) return {};
  std::size_t best = std::max<std::size_t>(2, key.size() / 3) + 1;
  std::string nearest;
  for (const Field& field : schema.fields()) {
    // The right name in the wrong section is the commonest slip: it counts as one character.
    const std::size_t away =
        last_segment(field.key) == last_segment(key) ? 1 : edit_distance(key, field.key);
    if (away < best) {
      best = away;
      nearest = field.key;
    }
  }
  return nearest;
}

std::string nearest_section(const SchemaCore& schema, const std::string& key) {
  std::vector<std::string> sections;
  for (const Field& field : schema.fields()) {
    for (std::size_t dot = field.key.find('.'); dot != std::string::npos;
         dot = field.key.find('.', dot + 1))
      sections.push_back(field.key.substr(0, dot));
    if (field.kind == Kind::kTables || field.kind == Kind::kParameters)
      sections.push_back(field.key);
  }
  return nearest_word(key, sections);
}

}  // namespace tickpath::config::detail
