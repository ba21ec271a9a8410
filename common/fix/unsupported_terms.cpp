#include "common/fix/detail/unsupported_terms.hpp"

namespace tickpath::fix::detail {
namespace {

struct Term {
  std::uint32_t tag;
  std::string_view allowed;  // the one value that says what holds anyway
  std::string_view text;
};

// Source: FIX 4.2 with Errata 20010501 and 4.4 with Errata 20030618, vol. 6 (field definitions).
constexpr Term kNotHere[] = {
    {15, "USD", "Currency (15) other than USD is not supported"},
    {63, "0", "SettlType (63) other than 0, regular, is not supported"},
    {64, {}, "a settlement date (64) is not supported"},
    {65, {}, "SymbolSfx (65) is not supported: the symbol is all of 55"},
    {100, {}, "ExDestination (100) is not supported: orders stay here"},
    {120, "USD", "SettlCurrency (120) other than USD is not supported"},
    {126, {}, "ExpireTime (126) is not supported"},
    {152, {}, "CashOrderQty (152) is not supported: OrderQty (38) is"},
    {167, "CS", "SecurityType (167) other than CS is not supported"},
    {210, {}, "MaxShow (210) is not supported: MaxFloor (111) is"},
    {386, "0", "TradingSessionID (336) is not supported: the day is one session"},
    {388, {}, "DiscretionInst (388) is not supported"},
    {389, {}, "a discretion offset (389) is not supported"},
    {432, {}, "ExpireDate (432) is not supported"},
};

// A security's name in another scheme: taken if it is the exchange's, and says what Symbol says.
std::string_view security(const Fields& fields) noexcept {
  if (!fields.has(22) && !fields.has(48)) return {};
  constexpr std::string_view kExchangeSymbol = "8";
  return fields.get(22) == kExchangeSymbol && fields.get(48) == fields.get(55)
             ? std::string_view{}
             : "a security by SecurityID (48) is not supported: Symbol (55) is";
}

// From when the order is in force: as far as it is from the time at which it was sent.
std::string_view effective(const Fields& fields) noexcept {
  constexpr std::size_t kToTheSecond = std::string_view("YYYYMMDD-HH:MM:SS").size();
  return fields.get(168).substr(0, kToTheSecond) <= fields.get(52).substr(0, kToTheSecond)
             ? std::string_view{}
             : "EffectiveTime (168) in the future is not supported";
}

std::string_view peg_offset(const Fields& fields) noexcept {
  Price offset;
  return !fields.has(211) || (parse_price(fields.get(211), offset) && offset.value == 0)
             ? std::string_view{}
             : "a peg offset (211) other than 0 is not supported";
}

}  // namespace

std::string_view unsupported_term(const Fields& fields) noexcept {
  if (!fields.has_rare()) [[likely]]
    return {};
  for (const Term& term : kNotHere)
    if (fields.has(term.tag) && (term.allowed.empty() || fields.get(term.tag) != term.allowed))
      return term.text;
  for (const std::string_view text : {security(fields), effective(fields), peg_offset(fields)})
    if (!text.empty()) return text;
  return {};
}

}  // namespace tickpath::fix::detail
