// The books of a recording, looked at for what no venue lets stand: `tickpath inspect`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/book/book.hpp"
#include "common/book/crossed_books.hpp"
#include "common/feeds/iex/deep_books.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/wire/book_update.hpp"
#include "mdh/book_handler.hpp"

namespace tickpath::cli {

struct CrossedSymbol {
  std::string symbol;
  std::uint64_t times = 0;
  std::uint64_t total_ns = 0;
  bool to_the_end = false;
};

class BookAudit {
 public:
  // file_bytes: of the recording; bounds how many orders can rest.
  explicit BookAudit(std::uint64_t file_bytes);

  // One message; time_ns: since the first midnight.
  void itch(std::span<const std::byte> message, std::uint64_t time_ns);
  void iex(std::span<const std::byte> message, std::uint64_t time_ns);

  // The numbering of an IEX feed began anew: its books do, too. So they do with another day.
  void begin_anew() noexcept;

  // There is nothing more; time_ns: of the last message.
  void finish(std::uint64_t time_ns) { crossed_.finish(time_ns); }

  const book::CrossedBooks& crossed() const noexcept { return crossed_; }
  // The most often crossed first.
  std::vector<CrossedSymbol> symbols() const;
  // Orders that found no room here: what is said of crossed books is then not the whole truth.
  std::uint64_t refused() const;

 private:
  class ItchHandler final : public mdh::BookHandler {
   public:
    explicit ItchHandler(BookAudit& audit) : BookHandler(audit.books_), audit_(audit) {}
    using BookHandler::operator();
    void operator()(const itch::StockDirectory& m) noexcept;
    void operator()(const itch::StockTradingAction& m) noexcept;
    void operator()(const itch::AddOrder& m) noexcept;
    void operator()(const itch::SystemEvent& m) noexcept;

   private:
    BookAudit& audit_;
  };
  struct DeepHandler;

  void name(book::Locate locate, std::string_view symbol);
  void look(book::Locate locate, std::uint64_t time_ns, bool matching) noexcept;

  book::LevelBookSet books_;
  book::CrossedBooks crossed_{book::kLocatesMax};
  // Symbols have numbers of their own in crossed_: locates are a day's. 0: no symbol's.
  std::vector<std::string> names_{1};
  std::map<std::string, std::uint16_t, std::less<>> numbers_;
  std::vector<std::uint16_t> number_of_;  // by locate
  std::vector<wire::TradingState> trading_;
  itch::TradingDay day_;
  std::uint64_t last_ns_ = 0;
  ItchHandler itch_{*this};
  iex::DeepBooks deep_{books_};
};

}  // namespace tickpath::cli
