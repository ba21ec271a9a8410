#include "tools/cli/recorded_books.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "common/base/error.hpp"
#include "common/book/book.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "mdh/book_handler.hpp"

namespace tickpath::cli {
namespace {

book::Options room_for(std::uint64_t file_bytes) {
  // An order takes 36 bytes, or a tenth of that compressed.
  constexpr std::uint64_t kMost = 8u << 20;
  const auto orders =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(file_bytes / 4, 1u << 16, kMost));
  return {.orders_max = orders, .levels_max = orders / 2};
}

class Books final : public mdh::BookHandler {
 public:
  explicit Books(std::uint64_t file_bytes) : BookHandler(books_), books_(room_for(file_bytes)) {}
  using BookHandler::operator();
  void operator()(const itch::StockDirectory& m) {
    information(m.header);
    locates_[std::string(m.stock.view())] = m.header.stock_locate;
  }
  void operator()(const itch::AddOrder& m) {
    locates_.try_emplace(std::string(m.stock.view()), m.header.stock_locate);
    BookHandler::operator()(m);
  }
  void operator()(const itch::AddOrderMpid& m) {
    locates_.try_emplace(std::string(m.stock.view()), m.header.stock_locate);
    BookHandler::operator()(m);
  }
  void operator()(const itch::SystemEvent& m) {
    if (day_.on_event(m.event_code) == itch::DayBreak::kDay) {
      books_.clear();
      locates_.clear();
    }
    information(m.header);
  }

  RecordedBook book(std::string_view symbol) const {
    const auto locate = locates_.find(symbol);
    if (locate == locates_.end()) return {};
    return {side(locate->second, Side::kBuy), side(locate->second, Side::kSell)};
  }
  bool overflowed() const {
    return books_.count(book::Status::kOrdersFull) + books_.count(book::Status::kLevelsFull) != 0;
  }

 private:
  BookLevels side(book::Locate locate, Side side) const {
    std::array<book::LevelView, RecordedBooks::kLevels> best{};
    const std::size_t count = books_.levels(locate, side, best);
    BookLevels levels;
    for (std::size_t i = 0; i < count; ++i)
      levels.push_back(
          {best[i].price, static_cast<std::uint32_t>(std::min<std::uint64_t>(
                              best[i].shares, std::numeric_limits<std::uint32_t>::max()))});
    return levels;
  }

  book::LevelBookSet books_;
  itch::TradingDay day_;
  std::map<std::string, book::Locate, std::less<>> locates_;
};

}  // namespace

void RecordedBooks::want(std::uint64_t tick, std::string_view symbol) {
  if (tick != 0) books_[tick].try_emplace(std::string(symbol));
}

void RecordedBooks::put(std::uint64_t tick, std::string_view symbol, RecordedBook book) {
  books_[tick].insert_or_assign(std::string(symbol), std::move(book));
  read_ = true;
}

void RecordedBooks::read(const std::string& path, std::uint64_t messages) {
  const auto recording = itch::open_recording(path);
  const auto books = std::make_unique<Books>(recording->file_bytes_total());
  std::uint64_t tick = 0;
  for (auto wanted = books_.begin(); wanted != books_.end(); ++wanted) {
    while (tick < wanted->first) {
      itch::RecordedMessage message;
      if (tick == messages || recording->next(message) != itch::ReadStatus::kMessage)
        throw Error(path + " ends at message " + std::to_string(tick) + ", and message " +
                    std::to_string(wanted->first) + " was on the feed" +
                    (recording->damage().empty() ? "" : ": " + recording->damage()));
      ++tick;
      if (recording->format() == itch::RecordingFormat::kIexDeep)
        throw Error(path + " is IEX DEEP, of which only mdh makes books");
      (void)itch::decode(message.bytes, *books);
    }
    if (books->overflowed())
      throw Error(path + ": more orders rest at message " + std::to_string(tick) +
                  " than there is room for");
    for (auto& [symbol, book] : wanted->second) book = books->book(symbol);
  }
  read_ = true;
}

const RecordedBook* RecordedBooks::find(std::uint64_t tick, std::string_view symbol) const {
  const auto at = books_.find(tick);
  if (!read_ || at == books_.end()) return nullptr;
  const auto book = at->second.find(symbol);
  return book == at->second.end() ? nullptr : &book->second;
}

}  // namespace tickpath::cli
