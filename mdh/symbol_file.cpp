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
#include "common/itch/alpha.hpp"

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

}  // namespace

std::vector<std::string> SymbolFile::read(std::uint32_t instruments_max) {
  std::vector<std::string> symbols;
  std::ifstream file(path_, std::ios::binary);
  if (!file) {
    std::error_code none;
    if (std::filesystem::exists(path_, none)) throw SystemError("cannot read " + path_, errno);
    return symbols;
  }
  std::unordered_set<std::string> seen;
  try {
    for (std::string line; std::getline(file, line);) {
      symbols.push_back(unescaped(line));
      if (!seen.insert(symbols.back()).second) throw Error("the symbol is there twice");
      if (symbols.size() > instruments_max) throw Error("instruments_max is smaller than the file");
      text_ += line + "\n";
    }
  } catch (const Error& error) {
    throw Error(fmt::format(
        "{}, line {}: {}; mend it, or, where no program holds orders or positions, remove the file "
        "and restart all: instruments then get other ids",
        path_, seen.size() + 1, error.what()));
  }
  size_ = static_cast<std::uint32_t>(symbols.size());
  return symbols;
}

void SymbolFile::append(const std::vector<std::string>& symbols) {
  std::string text = text_;
  for (const std::string& symbol : symbols) text += escaped(symbol) + "\n";
  replace_file(path_, {text});
  text_ = std::move(text);
  size_ += static_cast<std::uint32_t>(symbols.size());
}

}  // namespace tickpath::mdh
