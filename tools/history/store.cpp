#include "tools/history/store.hpp"

#include <charconv>

namespace tickpath::history {

void Store::execute(const std::string& sql) {
  query(sql, "TabSeparated", [](std::string_view) {});
}

std::string Store::text(const std::string& sql) {
  std::string all;
  query(sql, "TabSeparated", [&](std::string_view part) { all += part; });
  return all;
}

std::vector<std::uint64_t> Store::numbers(const std::string& sql) {
  const std::string all = text(sql);
  std::vector<std::uint64_t> found;
  for (const char *at = all.data(), *end = at + all.size(); at < end;) {
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) throw QueryError("no numbers came for: " + sql);
    found.push_back(number);
    at = stop;
    while (at < end && (*at == '\t' || *at == '\n')) ++at;
  }
  return found;
}

std::uint32_t Store::version() {
  if (version_ != 0) return version_;
  const std::string said = text("SELECT version()");
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  const char* const end = said.data() + said.size();
  const auto [dot, error] = std::from_chars(said.data(), end, major);
  if (error != std::errc{} || dot == end || *dot != '.' ||
      std::from_chars(dot + 1, end, minor).ec != std::errc{})
    throw Error(place() + " is no ClickHouse: as its version it says '" + said.substr(0, 80) + "'");
  version_ = major * 100 + minor;
  return version_;
}

std::string literal(std::string_view text) {
  std::string result = "'";
  for (const char each : text) {
    if (each == '\\' || each == '\'') result += '\\';
    result += each;
  }
  return result + "'";
}

}  // namespace tickpath::history
