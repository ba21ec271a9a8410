// What a person who mistyped a word may have meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tickpath {

// Levenshtein's distance: single-character insertions, removals and changes.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The one of `known` that is nearest to the word; empty: none is near enough.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace tickpath
