#include "tools/cli/book_audit.hpp"

#include <algorithm>
#include <functional>
#include <type_traits>

#include "common/feeds/iex/codec.hpp"

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
    : books_(room_for(file_bytes)),
      number_of_(book::kLocatesMax),
      trading_(book::kLocatesMax, wire::TradingState::kUnknown) {}

void BookAudit::name(book::Locate locate, std::string_view symbol) {
  auto known = numbers_.find(symbol);
  if (known == numbers_.end()) {
    if (names_.size() == book::kLocatesMax) return;
    known = numbers_.emplace(symbol, static_cast<std::uint16_t>(names_.size())).first;
    names_.emplace_back(symbol);
  }
  number_of_[locate] = known->second;
}

void BookAudit::ItchHandler::operator()(const itch::StockDirectory& m) noexcept {
  information(m.header);
  audit_.name(m.header.stock_locate, m.stock.view());
}

void BookAudit::ItchHandler::operator()(const itch::StockTradingAction& m) noexcept {
  information(m.header);
  audit_.trading_[m.header.stock_locate] = wire::trading_state(m.trading_state);
}

void BookAudit::ItchHandler::operator()(const itch::AddOrder& m) noexcept {
  BookHandler::operator()(m);
  if (audit_.number_of_[m.header.stock_locate] == 0)
    audit_.name(m.header.stock_locate, m.stock.view());
}

void BookAudit::ItchHandler::operator()(const itch::SystemEvent& m) noexcept {
  information(m.header);
  if (audit_.day_.on_event(m.event_code) != itch::DayBreak::kDay) return;
  audit_.begin_anew();
  std::ranges::fill(audit_.number_of_, std::uint16_t{0});
  std::ranges::fill(audit_.trading_, wire::TradingState::kUnknown);
}

void BookAudit::itch(std::span<const std::byte> message, std::uint64_t time_ns) {
  if (itch::decode(message, itch_) == itch::DecodeStatus::kOk)
    look(itch_.event().locate, time_ns, true);
  last_ns_ = time_ns;
}

// Books, and what says that a symbol's orders gather unmatched.
struct BookAudit::DeepHandler {
  BookAudit& audit;
  book::Locate locate = iex::SymbolTable::kNone;

  template <class Message>
  void operator()(const Message& m) noexcept {
    audit.deep_(m);
    if constexpr (std::is_same_v<Message, iex::SystemEvent>)
      if (audit.day_.on_event(m.event) == itch::DayBreak::kDay) audit.begin_anew();
    if constexpr (requires { m.symbol; }) {
      locate = audit.deep_.locate(m.symbol);
      if (locate == iex::SymbolTable::kNone) return;
      if (audit.number_of_[locate] == 0) audit.name(locate, m.symbol.view());
      if constexpr (std::is_same_v<Message, iex::TradingStatus>)
        audit.trading_[locate] = m.status == iex::TradingStatus::kOrderAcceptance
                                     ? wire::TradingState::kQuotationOnly
                                     : wire::trading_state(m.status);
    }
  }
};

void BookAudit::iex(std::span<const std::byte> message, std::uint64_t time_ns) {
  DeepHandler handler{*this};
  if (iex::decode(message, handler) == iex::DecodeStatus::kOk &&
      handler.locate != iex::SymbolTable::kNone)
    look(handler.locate, time_ns, !deep_.in_transition(handler.locate));
  last_ns_ = time_ns;
}

// What was crossed was so until the last message before.
void BookAudit::begin_anew() noexcept {
  books_.clear();
  deep_.begin_session();
  for (std::size_t locate = 0; locate < number_of_.size(); ++locate)
    look(static_cast<book::Locate>(locate), last_ns_, true);
}

void BookAudit::look(book::Locate locate, std::uint64_t time_ns, bool matching) noexcept {
  const bool crossed = matching && !wire::gathers(trading_[locate]) &&
                       book::is_crossed(books_.best(locate, Side::kBuy).price,
                                        books_.best(locate, Side::kSell).price);
  const std::uint16_t symbol = number_of_[locate];
  const bool was_crossed = crossed_[symbol].crossed.get() != 0;
  if (crossed && !was_crossed) crossed_.begin(symbol, time_ns);
  if (!crossed && was_crossed) crossed_.end(symbol, time_ns);
}

std::vector<CrossedSymbol> BookAudit::symbols() const {
  std::vector<CrossedSymbol> symbols;
  for (std::size_t at = 0; at < names_.size(); ++at) {
    const book::CrossedBook& book = crossed_[at];
    if (book.times.get() > 0)
      symbols.push_back(
          {names_[at], book.times.get(), book.total_ns.get(), book.crossed.get() != 0});
  }
  std::ranges::stable_sort(symbols, std::ranges::greater{}, &CrossedSymbol::times);
  return symbols;
}

std::uint64_t BookAudit::refused() const {
  return books_.count(book::Status::kOrdersFull) + books_.count(book::Status::kLevelsFull);
}

}  // namespace tickpath::cli
