#include "common/config/detail/document.hpp"

#include <charconv>
#include <sstream>

#include <toml++/toml.h>

#include "common/config/detail/parse_toml.hpp"
#include "common/config/table.hpp"
#include "common/config/values.hpp"

namespace tickpath::config::detail {
namespace {

Node convert(const toml::node& node, const std::string& name) {
  Node result;
  result.origin = position(node, name);
  result.column = node.source().begin.column;
  if (const auto* table = node.as_table()) {
    for (const auto& [key, value] : *table)
      result.entries.push_back({std::string(key.str()), convert(value, name)});
    return result;
  }
  if (const auto* array = node.as_array()) {
    result.type = Node::Type::kArray;
    for (const auto& value : *array) result.items.push_back(convert(value, name));
    return result;
  }
  if (const auto* text = node.as_string()) {
    result.type = Node::Type::kText;
    result.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    result.type = Node::Type::kInteger;
    result.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    result.type = Node::Type::kReal;
    result.real = real->get();
  } else if (const auto* flag = node.as_boolean()) {
    result.type = Node::Type::kFlag;
    result.flag = flag->get();
  } else {
    result.type = Node::Type::kDateTime;
  }
  return result;
}

// The value of an override as TOML, or as a text where it is none.
Node parse_value(const std::string& raw) {
  Node value;
  try {
    const toml::table table = toml::parse("v = " + raw);
    if (table.size() == 1) value = convert(*table.get("v"), "--set");
    if (table.size() != 1) throw ConfigError({"more than one value"});
  } catch (const std::exception&) {
    value = Node{};
    value.type = Node::Type::kText;
    value.text = raw;
  }
  value.raw = raw;
  value.from_command = true;
  return value;
}

void set_origin(Node& node, const std::string& origin) {
  node.origin = origin;
  node.column = 0;
  for (auto& [key, value] : node.entries) set_origin(value, origin);
  for (Node& item : node.items) set_origin(item, origin);
}

// One step of an override's key: into a table (made if need be) or to an element of an array.
Node& descend(Node& node, const std::string& segment, const std::string& origin) {
  if (node.type == Node::Type::kArray) {
    std::size_t index = 0;
    const auto [end, error] =
        std::from_chars(segment.data(), segment.data() + segment.size(), index);
    if (error != std::errc{} || end != segment.data() + segment.size() ||
        index >= node.items.size())
      throw ConfigError({origin + ": there are " + std::to_string(node.items.size()) +
                         " elements, counted from 0; '" + segment + "' names none of them"});
    return node.items[index];
  }
  if (node.type != Node::Type::kTable) {
    Node table;
    table.origin = origin;
    node = std::move(table);
  }
  if (Node* found = node.find(segment)) return *found;
  node.entries.push_back({segment, Node{}});
  node.entries.back().node.origin = origin;
  return node.entries.back().node;
}

}  // namespace

Node* Node::find(std::string_view key) noexcept {
  for (auto& [name, node] : entries)
    if (name == key) return &node;
  return nullptr;
}

std::string Node::place() const {
  return column == 0 ? origin : origin + ":" + std::to_string(column);
}

toml::table parse_toml(std::string_view text, const std::string& name) {
  if (text.size() > kDocumentBytesMax)
    throw ConfigError({name + ": larger than 1 MiB: not a configuration file"});
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    std::ostringstream where;
    where << name << ':' << error.source().begin.line << ':' << error.source().begin.column << ": "
          << error.description();
    throw ConfigError({where.str()});
  }
}

Node parse_document(std::string_view text, const std::string& name) {
  return convert(parse_toml(text, name), name);
}

Node read_document(const std::string& path) { return convert(read_table(path), path); }

void apply_override(Node& root, const std::string& assignment) {
  const std::string origin = "--set " + assignment;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw ConfigError({origin + ": write --set key=value"});
  Node* node = &root;
  std::stringstream key(assignment.substr(0, equals));
  for (std::string segment; std::getline(key, segment, '.');)
    node = &descend(*node, segment, origin);
  *node = parse_value(assignment.substr(equals + 1));
  set_origin(*node, origin);
}

std::string describe(const Node& node) {
  switch (node.type) {
    case Node::Type::kTable:
      return "a table";
    case Node::Type::kArray:
      return "a list of " + std::to_string(node.items.size());
    case Node::Type::kText:
      return '"' + node.text + '"';
    case Node::Type::kInteger:
      return std::to_string(node.integer);
    case Node::Type::kReal: {
      std::ostringstream text;
      text << node.real;
      return text.str();
    }
    case Node::Type::kFlag:
      return node.flag ? "true" : "false";
    case Node::Type::kDateTime:
      return "a date or time";
  }
  return "?";
}

}  // namespace tickpath::config::detail
