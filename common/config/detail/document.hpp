// A TOML document as a plain tree, so that the parser's header is compiled for few files only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tickpath::config::detail {

struct Node {
  enum class Type : std::uint8_t { kTable, kArray, kText, kInteger, kReal, kFlag, kDateTime };

  Type type = Type::kTable;
  std::string origin;         // "demo/mdh.toml:12", or "--set feed.port=1"
  std::uint32_t column = 0;   // in that line, from 1; 0: of --set
  bool from_command = false;  // raw holds what was typed
  std::string raw;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool flag = false;
  struct Entry;
  std::vector<Entry> entries;  // kTable, in the order of the file
  std::vector<Node> items;     // kArray

  Node* find(std::string_view key) noexcept;
  // "demo/mdh.toml:12:8", or "--set feed.port=1"
  std::string place() const;
};

struct Node::Entry {
  std::string key;
  Node node;
};

// A file larger than this is no configuration.
inline constexpr std::size_t kDocumentBytesMax = 1 << 20;

// Throw ConfigError with "name:line:column: what" for text that is not TOML.
Node parse_document(std::string_view text, const std::string& name);
Node read_document(const std::string& path);  // with what it extends (table.hpp)

// Puts "key=value" into the tree; the value is TOML if it can be read so, else a text. Throws
// ConfigError where the key leads nowhere ("plugin.7.x" with two plugins).
void apply_override(Node& root, const std::string& assignment);

// For messages: `"abc"`, `12`, `a table`.
std::string describe(const Node& node);

}  // namespace tickpath::config::detail
