// Books of a recording as they were behind chosen messages.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/units.hpp"
#include "strategy/router.hpp"

namespace tickpath::cli {

using BookLevels = std::vector<strategy::RoutedLevel>;  // of one side, best first

struct RecordedBook {
  BookLevels bids;
  BookLevels asks;

  // Whom an order on that side would meet.
  const BookLevels& against(Side side) const { return side == Side::kBuy ? asks : bids; }
};

class RecordedBooks {
 public:
  // The best levels that are kept; an order meets no more that the router knows of.
  static constexpr std::size_t kLevels = strategy::kRoutedLevels;

  // Before read(). tick: number of the message in the recording, from 1.
  void want(std::uint64_t tick, std::string_view symbol);
  // Fills in what is wanted, of the first `messages`. Throws files::RecordingError; Error for a
  // recording whose messages are not ITCH, and one that ends before the last wanted message.
  void read(const std::string& path, std::uint64_t messages);
  // For tests: a book made by hand.
  void put(std::uint64_t tick, std::string_view symbol, RecordedBook book);

  // Null: it was not wanted, or is not read.
  const RecordedBook* find(std::uint64_t tick, std::string_view symbol) const;

 private:
  std::map<std::uint64_t, std::map<std::string, RecordedBook, std::less<>>> books_;  // by tick
  bool read_ = false;
};

}  // namespace tickpath::cli
