#include "common/config/table.hpp"

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/trusted_file.hpp"
#include "common/config/config.hpp"
#include "common/config/detail/document.hpp"
#include "common/config/detail/parse_toml.hpp"
#include "common/config/values.hpp"

namespace tickpath::config {
namespace {

constexpr const char* kExtends = "extends";
constexpr int kExtendsMax = 8;

std::string slurp(const std::string& path) {
  if (const std::string why = why_untrusted(path); !why.empty())
    throw ConfigError({path + ": is not read, as others could change it: " + why});
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw SystemError("cannot read configuration file '" + path + "'", errno);
  std::string text;
  char buffer[16384];
  ssize_t got = 0;
  while ((got = ::read(file, buffer, sizeof(buffer))) > 0 &&
         text.size() <= detail::kDocumentBytesMax)
    text.append(buffer, static_cast<std::size_t>(got));
  const int error = errno;
  ::close(file);
  if (got < 0) throw SystemError("cannot read configuration file '" + path + "'", error);
  return text;
}

void put(toml::table& table, std::string_view key, toml::node& value) {
  value.visit([&](auto& found) { table.insert_or_assign(key, std::move(found)); });
}

void lay_over(toml::table& base, toml::table& top) {
  for (auto&& [key, value] : top) {
    toml::table* const below = base[key.str()].as_table();
    if (toml::table* const above = value.as_table(); above != nullptr && below != nullptr)
      lay_over(*below, *above);
    else
      put(base, key.str(), value);
  }
}

toml::table with_base(toml::table table, const std::string& path, int depth = 0) {
  const toml::node* const extends = table.get(kExtends);
  if (extends == nullptr) return table;
  const std::string at = position(*extends, path) + ": extends: ";
  const auto* const name = extends->as_string();
  if (name == nullptr || name->get().empty())
    throw ConfigError({at + "allowed is the path of a file, from where this one is"});
  if (depth == kExtendsMax)
    throw ConfigError({at + "this is the " + std::to_string(kExtendsMax + 1) +
                       "th file in a row that extends another one; do they extend each other?"});
  const std::filesystem::path base =
      (std::filesystem::path(path).parent_path() / name->get()).lexically_normal();
  if (!std::filesystem::exists(base)) throw ConfigError({at + "there is no " + base.string()});
  table.erase(kExtends);
  toml::table below = detail::parse_toml(slurp(base.string()), base.string());
  toml::table result = with_base(std::move(below), base.string(), depth + 1);
  lay_over(result, table);
  return result;
}

}  // namespace

toml::table read_table(const std::string& path) {
  return with_base(detail::parse_toml(slurp(path), path), path);
}

std::string read_merged_text(const std::string& path) {
  std::string text = slurp(path);
  toml::table table = detail::parse_toml(text, path);
  if (!table.contains(kExtends)) return text;
  table = with_base(std::move(table), path);
  std::ostringstream merged;
  merged << toml::toml_formatter(table, toml::format_flags::none) << '\n';
  return std::move(merged).str();
}

std::string position(const toml::node& node, const std::string& name) {
  const toml::source_region& source = node.source();
  return (source.path ? *source.path : name) + ":" + std::to_string(source.begin.line);
}

}  // namespace tickpath::config
