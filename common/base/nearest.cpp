#include "common/base/nearest.hpp"

#include <algorithm>
#include <numeric>

namespace tickpath {

std::size_t edit_distance(std::string_view a, std::string_view b) {
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

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  // A word of three letters may have one wrong, of four two: two letters that are swapped count
  // two.
  constexpr std::size_t kWordMax = 100;
  if (word.size() > kWordMax) return {};
  std::size_t best = (word.size() + 2) / 3 + 1;
  std::string nearest;
  for (const std::string& each : known)
    if (const std::size_t away = edit_distance(word, each); away < best) {
      best = away;
      nearest = each;
    }
  return nearest;
}

}  // namespace tickpath
