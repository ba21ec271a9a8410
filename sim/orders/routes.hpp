// The ways by which requests of a session came, of which reports go back the other way round:
// through whom (115, 116, 144) and for whom (128, 129, 145).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/fix/messages.hpp"

namespace tickpath::sim {

// One thread; nothing allocates. An order has the number of its route, not the texts.
class Routes {
 public:
  static constexpr std::size_t kMax = 255;

  // Whether a report has room for it.
  static bool fits(const fix::Route& route) noexcept {
    std::size_t bytes = 0;
    for (const std::string_view text : texts(route)) {
      if (text.size() > fix::kRoutedMax) return false;
      if (!text.empty()) bytes += std::string_view("115=|").size() + text.size();
    }
    return bytes <= fix::kRouteBytesMax;
  }
  // Its number, from 1. 0: there are kMax others already. `route` fits.
  std::uint8_t intern(const fix::Route& route) noexcept {
    const Texts given = texts(route);
    for (std::size_t i = 0; i < used_; ++i)
      if (texts(routes_[i]) == given) return static_cast<std::uint8_t>(i + 1);
    if (used_ == kMax) return 0;
    Texts kept;
    for (std::size_t i = 0; i < given.size(); ++i) {
      Text& text = texts_[used_][i];
      given[i].copy(text.data(), text.size());
      kept[i] = {text.data(), given[i].size()};
    }
    routes_[used_] = {.from_comp = kept[0],
                      .from_sub = kept[1],
                      .from_location = kept[2],
                      .to_comp = kept[3],
                      .to_sub = kept[4],
                      .to_location = kept[5]};
    return static_cast<std::uint8_t>(++used_);
  }
  // nullptr: 0, or not in use.
  const fix::Route* get(std::uint8_t number) const noexcept {
    return number == 0 || number > used_ ? nullptr : &routes_[number - 1u];
  }

 private:
  using Texts = std::array<std::string_view, 6>;
  using Text = std::array<char, fix::kRoutedMax>;
  static Texts texts(const fix::Route& route) noexcept {
    return {route.from_comp, route.from_sub, route.from_location,
            route.to_comp,   route.to_sub,   route.to_location};
  }

  std::array<fix::Route, kMax> routes_;
  std::array<std::array<Text, 6>, kMax> texts_;
  std::size_t used_ = 0;
};

}  // namespace tickpath::sim
