#include "mdh/symbol_file.hpp"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <unordered_set>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/replace_file.hpp"
#include "common/feeds/itch/alpha.hpp"

namespace tickpath::mdh {
namespace {

constexpr std::size_t kSymbolMax = sizeof(itch::Stock::characters);

std::string escaped(std::string_view symbol) {
  std::string text;
  for (const char c : symbol.empty() ? std::string_view(" ") : symbol) {
    if (c > ' ' && c <= '~' && c != '%')
      text += c;
    else
      text += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

// Throws Error.
std::string unescaped(std::string_view line) {
  std::string symbol;
  for (std::size_t at = 0; at < line.size(); ++at) {
    unsigned value = static_cast<unsigned char>(line[at]);
    if (line[at] == '%') {
      const std::string_view digits = line.substr(at + 1, 2);
      const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (digits.size() != 2 || parsed.ptr != digits.data() + 2)
        throw Error("two hexadecimal digits are wanted behind %");
      at += 2;
    } else if (value <= ' ' || value > '~') {
      throw Error("there is a character that no symbol has");
    }
    symbol += static_cast<char>(value);
  }
  if (symbol.empty() || symbol.size() > kSymbolMax)
    throw Error("a symbol of 1 to 8 characters is wanted");
  return symbol;
}

std::chrono::sys_days day_of(std::string_view text) {
  unsigned parts[3]{};  // year, month, day
  constexpr std::size_t kFrom[] = {0, 5, 8};
  constexpr std::size_t kLength[] = {4, 2, 2};
  bool right = text.size() == 10 && text[4] == '-' && text[7] == '-';
  for (std::size_t i = 0; right && i < 3; ++i) {
    const char* const end = text.data() + kFrom[i] + kLength[i];
    right = std::from_chars(text.data() + kFrom[i], end, parts[i]).ptr == end;
  }
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(parts[0])),
                                        std::chrono::month(parts[1]), std::chrono::day(parts[2])};
  if (!right || !day.ok()) throw Error("behind the symbol a day is wanted, such as 2026-11-23");
  return day;
}

std::string text_of(std::chrono::sys_days when) {
  const std::chrono::year_month_day day(when);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

KnownSymbol parsed(std::string_view line, std::chrono::sys_days today) {
  const std::size_t space = line.find(' ');
  return {unescaped(line.substr(0, space)),
          space == std::string_view::npos ? today : day_of(line.substr(space + 1))};
}

}  // namespace

std::vector<KnownSymbol> SymbolFile::read(std::uint32_t instruments_max,
                                          std::chrono::sys_days today) const {
  std::vector<KnownSymbol> symbols;
  std::ifstream file(path_, std::ios::binary);
  if (!file) {
    std::error_code none;
    if (std::filesystem::exists(path_, none)) throw SystemError("cannot read " + path_, errno);
    return symbols;
  }
  std::unordered_set<std::string> seen;
  std::size_t number = 0;
  try {
    for (std::string line; std::getline(file, line);) {
      ++number;
      symbols.push_back(parsed(line, today));
      if (!seen.insert(symbols.back().symbol).second) throw Error("the symbol is there twice");
      if (symbols.size() > instruments_max) throw Error("instruments_max is smaller than the file");
    }
  } catch (const Error& error) {
    throw Error(fmt::format(
        "{}, line {}: {}; mend it, or, where no program holds orders or positions, remove the file "
        "and restart all: instruments then get other ids",
        path_, number, error.what()));
  }
  return symbols;
}

void SymbolFile::write(const std::vector<KnownSymbol>& symbols) const {
  std::string text;
  for (const KnownSymbol& known : symbols)
    text += escaped(known.symbol) + ' ' + text_of(known.last_seen) + '\n';
  replace_file(path_, {text});
}

}  // namespace tickpath::mdh
