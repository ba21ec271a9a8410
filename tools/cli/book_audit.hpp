// The books of a recording, looked at for what no venue lets stand: `tickpath inspect`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/book/book.hpp"
#include "common/book/crossed_books.hpp"
#include "common/iex/deep_books.hpp"
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

  // One message; time_ns: since midnight.
  void itch(std::span<const std::byte> message, std::uint64_t time_ns);
  void iex(std::span<const std::byte> message, std::uint64_t time_ns);

  // The numbering of an IEX feed began anew: its books do, too.
  void restart(std::uint64_t time_ns);

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

   private:
    BookAudit& audit_;
  };
  struct DeepHandler;

  void look(book::Locate locate, std::uint64_t time_ns, bool matching) noexcept;

  book::LevelBookSet books_;
  book::CrossedBooks crossed_{book::kLocatesMax};
  std::vector<std::string> names_{book::kLocatesMax};
  std::vector<wire::TradingState> trading_;
  ItchHandler itch_{*this};
  iex::DeepBooks deep_{books_};
};

}  // namespace tickpath::cli
