#include "common/config/detail/suggest.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace tickpath::config::detail {
namespace {

// Levenshtein's distance: single-character insertions, removals and changes.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

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
        last_segment(field.key) == last_segment(key) ? 1 : distance(key, field.key);
    if (away < best) {
      best = away;
      nearest = field.key;
    }
  }
  return nearest;
}

}  // namespace tickpath::config::detail
