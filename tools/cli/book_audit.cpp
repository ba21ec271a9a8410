#include "tools/cli/book_audit.hpp"

#include <algorithm>
#include <functional>
#include <type_traits>

#include "common/iex/codec.hpp"

namespace tickpath::cli {
namespace {

// A compressed message takes some eight bytes; no venue has more orders resting than the last.
constexpr std::uint64_t kBytesAnOrder = 8, kOrdersMin = 1u << 16, kOrdersMax = 1u << 22;

book::Options room_for(std::uint64_t file_bytes) {
  const auto orders =
      static_cast<std::uint32_t>(std::clamp(file_bytes / kBytesAnOrder, kOrdersMin, kOrdersMax));
  return {.orders_max = orders, .levels_max = std::max(orders / 4, 1u << 16)};
}

}  // namespace

BookAudit::BookAudit(std::uint64_t file_bytes)
    : books_(room_for(file_bytes)), trading_(book::kLocatesMax, wire::TradingState::kUnknown) {}

void BookAudit::ItchHandler::operator()(const itch::StockDirectory& m) noexcept {
  information(m.header);
  audit_.names_[m.header.stock_locate] = m.stock.view();
}

void BookAudit::ItchHandler::operator()(const itch::StockTradingAction& m) noexcept {
  information(m.header);
  audit_.trading_[m.header.stock_locate] = wire::trading_state(m.trading_state);
}

void BookAudit::ItchHandler::operator()(const itch::AddOrder& m) noexcept {
  BookHandler::operator()(m);
  std::string& name = audit_.names_[m.header.stock_locate];
  if (name.empty()) name = m.stock.view();
}

void BookAudit::itch(std::span<const std::byte> message, std::uint64_t time_ns) {
  if (itch::decode(message, itch_) == itch::DecodeStatus::kOk)
    look(itch_.event().locate, time_ns, true);
}

// Books, and what says that a symbol's orders gather unmatched.
struct BookAudit::DeepHandler {
  BookAudit& audit;
  book::Locate locate = iex::SymbolTable::kNone;

  template <class Message>
  void operator()(const Message& m) noexcept {
    audit.deep_(m);
    if constexpr (requires { m.symbol; }) {
      locate = audit.deep_.locate(m.symbol);
      if (locate == iex::SymbolTable::kNone) return;
      if (audit.names_[locate].empty()) audit.names_[locate] = m.symbol.view();
      if constexpr (std::is_same_v<Message, iex::TradingStatus>)
        audit.trading_[locate] = m.status == iex::TradingStatus::kOrderAcceptance
                                     ? wire::TradingState::kQuotationOnly
                                     : wire::trading_state(m.status);
    }
  }
};

void BookAudit::iex(std::span<const std::byte> message, std::uint64_t time_ns) {
  DeepHandler handler{*this};
  if (iex::decode(message, handler) != iex::DecodeStatus::kOk) return;
  if (handler.locate != iex::SymbolTable::kNone)
    look(handler.locate, time_ns, !deep_.in_transition(handler.locate));
}

void BookAudit::restart(std::uint64_t time_ns) {
  books_.clear();
  deep_.begin_session();
  for (std::size_t locate = 0; locate < crossed_.size(); ++locate)
    look(static_cast<book::Locate>(locate), time_ns, true);
}

void BookAudit::look(book::Locate locate, std::uint64_t time_ns, bool matching) noexcept {
  const bool crossed = matching && !wire::gathers(trading_[locate]) &&
                       book::is_crossed(books_.best(locate, Side::kBuy).price,
                                        books_.best(locate, Side::kSell).price);
  const bool was_crossed = crossed_[locate].crossed.get() != 0;
  if (crossed && !was_crossed) crossed_.begin(locate, time_ns);
  if (!crossed && was_crossed) crossed_.end(locate, time_ns);
}

std::vector<CrossedSymbol> BookAudit::symbols() const {
  std::vector<CrossedSymbol> symbols;
  for (std::size_t locate = 0; locate < crossed_.size(); ++locate) {
    const book::CrossedBook& book = crossed_[locate];
    if (book.times.get() > 0)
      symbols.push_back(
          {names_[locate], book.times.get(), book.total_ns.get(), book.crossed.get() != 0});
  }
  std::ranges::stable_sort(symbols, std::ranges::greater{}, &CrossedSymbol::times);
  return symbols;
}

std::uint64_t BookAudit::refused() const {
  return books_.count(book::Status::kOrdersFull) + books_.count(book::Status::kLevelsFull);
}

}  // namespace tickpath::cli
