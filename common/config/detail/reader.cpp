// From a document to a struct, all problems together.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "common/config/detail/allowed.hpp"
#include "common/config/detail/document.hpp"
#include "common/config/detail/schema_core.hpp"
#include "common/config/detail/suggest.hpp"

namespace tickpath::config::detail {
namespace {

using Type = Node::Type;

// Integers are fine where reals are asked for, never the other way round.
bool to_real(const Node& node, double& real) {
  if (node.type == Type::kInteger) real = static_cast<double>(node.integer);
  if (node.type == Type::kReal) real = node.real;
  return node.type == Type::kInteger || node.type == Type::kReal;
}

// A text; what was typed for --set counts as one even where it looks like a number.
bool to_text(const Node& node, std::string& text) {
  if (node.type == Type::kText) {
    text = node.text;
    return true;
  }
  if (node.from_command) text = node.raw;
  return node.from_command;
}

bool in_range(const Field& field, std::int64_t value) {
  if (field.power_of_two && !(value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value))))
    return false;
  return value >= field.min && value <= field.max;
}

bool convert_choice(const Field& field, const Node& node, Value& value);

bool convert_number(const Field& field, const Node& node, Value& value) {
  std::string text;
  std::int64_t number = 0;
  if (field.kind == Kind::kInteger) {
    if (node.type != Type::kInteger) return convert_choice(field, node, value);
    number = node.integer;
  } else if (field.kind == Kind::kSize && node.type == Type::kInteger) {
    number = node.integer;
  } else if (to_text(node, text)) {
    try {
      number = field.kind == Kind::kDuration ? parse_duration_ns(text)
                                             : static_cast<std::int64_t>(parse_size_bytes(text));
    } catch (const Error&) {
      return false;
    }
  } else {
    return false;
  }
  value = number;
  return in_range(field, number);
}

bool convert_choice(const Field& field, const Node& node, Value& value) {
  std::string text;
  if (!to_text(node, text)) return false;
  for (const auto& [name, number] : field.choices)
    if (name == text) {
      value = number;
      return true;
    }
  return false;
}

bool convert_list(const Field& field, const Node& node, Value& value) {
  if (node.type != Type::kArray) return false;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  for (const Node& item : node.items) {
    if (field.kind == Kind::kTexts && item.type == Type::kText) {
      texts.push_back(item.text);
    } else if (field.kind == Kind::kIntegers && item.type == Type::kInteger &&
               in_range(field, item.integer)) {
      integers.push_back(item.integer);
    } else {
      return false;
    }
  }
  if (field.kind == Kind::kTexts) value = std::move(texts);
  if (field.kind == Kind::kIntegers) value = std::move(integers);
  return true;
}

// Several paths into one text. A path with a comma would look like two.
bool convert_paths(const Node& node, Value& value) {
  std::string all;
  for (const Node& item : node.items) {
    if (item.type != Type::kText || item.text.find(',') != std::string::npos) return false;
    all += (all.empty() ? "" : ",") + item.text;
  }
  value = std::move(all);
  return !node.items.empty();
}

bool convert_parameters(const Node& node, Value& value) {
  if (node.type != Type::kTable) return false;
  Parameters parameters;
  for (const auto& [key, item] : node.entries) {
    switch (item.type) {
      case Type::kInteger:
        parameters.push_back({key, item.integer, item.place()});
        break;
      case Type::kReal:
        parameters.push_back({key, item.real, item.place()});
        break;
      case Type::kFlag:
        parameters.push_back({key, item.flag, item.place()});
        break;
      case Type::kText:
        parameters.push_back({key, item.text, item.place()});
        break;
      default:
        return false;
    }
  }
  value = std::move(parameters);
  return true;
}

// False: the node is not what the field allows.
bool convert(const Field& field, const Node& node, Value& value) {
  std::string text;
  switch (field.kind) {
    case Kind::kText:
    case Kind::kPath:
      if (field.list && node.type == Type::kArray) return convert_paths(node, value);
      if (!to_text(node, text)) return false;
      value = std::move(text);
      return true;
    case Kind::kInteger:
    case Kind::kDuration:
    case Kind::kSize:
      return convert_number(field, node, value);
    case Kind::kReal: {
      double real = 0;
      if (!to_real(node, real) || !(real >= field.real_min && real <= field.real_max)) return false;
      value = real;
      return true;
    }
    case Kind::kFlag:
      value = node.flag;
      return node.type == Type::kFlag;
    case Kind::kChoice:
      return convert_choice(field, node, value);
    case Kind::kAddress:
      if (!to_text(node, text)) return false;
      try {
        value = parse_address(text);
      } catch (const Error&) {
        return false;
      }
      return true;
    case Kind::kIntegers:
    case Kind::kTexts:
      return convert_list(field, node, value);
    case Kind::kParameters:
      return convert_parameters(node, value);
    case Kind::kTables:
      return false;
  }
  return false;
}

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  void read(const SchemaCore& schema, void* config, const Node& root, const std::string& shown) {
    std::set<std::string> given;
    schema.tell_place(config, root.place());
    walk(schema, config, root, "", shown, given);
    for (const Field& field : schema.fields())
      if (field.required && !given.contains(field.key))
        problem(root.origin.starts_with("--set") ? root.origin : name_, shown + field.key,
                "missing; give " + allowed(field));
    if (!problems_.empty()) return;
    for (const auto& check : schema.checks()) {
      Located located(*this, shown);
      check(config, located);
    }
  }

  void problem(const std::string& origin, const std::string& key, const std::string& what) {
    problems_.push_back(origin + ": " + key + ": " + what);
  }
  void problem_text(const std::string& text) { problems_.push_back(text); }
  const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  class Located final : public Problems {
   public:
    Located(Reader& reader, std::string shown) : reader_(reader), shown_(std::move(shown)) {}
    void add(std::string_view key, std::string_view what) override {
      const std::string full = shown_ + std::string(key);
      const auto found = reader_.origins_.find(full);
      reader_.problem(found == reader_.origins_.end() ? reader_.name_ : found->second, full,
                      std::string(what));
    }

   private:
    Reader& reader_;
    std::string shown_;
  };

  // prefix: within the schema; shown: before it in messages ("plugin.0.").
  void walk(const SchemaCore& schema, void* config, const Node& table, const std::string& prefix,
            const std::string& shown, std::set<std::string>& given) {
    for (const auto& [name, node] : table.entries) {
      const std::string key = prefix + name;
      if (const Field* field = schema.find(key)) {
        given.insert(key);
        origins_[shown + key] = node.origin;
        field->kind == Kind::kTables ? read_tables(*field, config, node, shown + key)
                                     : read_value(*field, config, node, shown + key);
      } else if (is_section(schema, key)) {
        if (node.type == Type::kTable)
          walk(schema, config, node, key + ".", shown, given);
        else
          problem(node.origin, shown + key,
                  "found " + describe(node) + "; it is a section: write [" + shown + key + "]");
      } else {
        unknown(schema, node, key, shown);
      }
    }
  }

  static bool is_section(const SchemaCore& schema, const std::string& key) {
    return std::any_of(schema.fields().begin(), schema.fields().end(),
                       [&](const Field& field) { return field.key.starts_with(key + "."); });
  }

  void unknown(const SchemaCore& schema, const Node& node, const std::string& key,
               const std::string& shown) {
    if (node.type == Type::kTable)
      if (const std::string near = nearest_section(schema, key); !near.empty())
        return problem(node.origin, shown + key,
                       "unknown section; did you mean [" + shown + near + "]?");
    const std::string near = nearest_key(schema, key);
    problem(node.origin, shown + key,
            "unknown key" + (near.empty() ? std::string("; --print-config lists the known ones")
                                          : "; did you mean '" + shown + near + "'?"));
  }

  void read_value(const Field& field, void* config, const Node& node, const std::string& key) {
    Value value;
    if (convert(field, node, value))
      field.set(config, value);
    else
      problem(node.origin, key, "found " + describe(node) + "; allowed is " + allowed(field));
  }

  void read_tables(const Field& field, void* config, const Node& node, const std::string& key) {
    const bool is_list = node.type == Type::kArray &&
                         std::all_of(node.items.begin(), node.items.end(),
                                     [](const Node& item) { return item.type == Type::kTable; });
    if (!is_list) {
      problem(node.origin, key, "found " + describe(node) + "; write [[" + key + "]] before each");
      return;
    }
    field.clear(config);
    const auto count = static_cast<std::int64_t>(node.items.size());
    if (!in_range(field, count)) {
      problem(node.origin, key,
              "found " + std::to_string(count) + "; allowed is " + allowed(field));
      return;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i)
      read(*field.table, field.append(config), node.items[i], key + "." + std::to_string(i) + ".");
  }

  std::string name_;
  std::vector<std::string> problems_;
  std::map<std::string, std::string> origins_;
};

void read_root(const SchemaCore& schema, void* config, Node root, const std::string& name,
               const std::vector<std::string>& overrides) {
  Reader reader(name);
  for (const std::string& assignment : overrides) {
    try {
      apply_override(root, assignment);
    } catch (const ConfigError& error) {
      for (const std::string& line : error.problems()) reader.problem_text(line);
    }
  }
  reader.read(schema, config, root, "");
  if (!reader.problems().empty()) throw ConfigError(reader.problems());
}

}  // namespace

void read_text(const SchemaCore& schema, void* config, std::string_view text,
               const std::string& name, const std::vector<std::string>& overrides) {
  read_root(schema, config, parse_document(text, name), name, overrides);
}

void read_file(const SchemaCore& schema, void* config, const std::string& path,
               const std::vector<std::string>& overrides) {
  read_root(schema, config, read_document(path), path, overrides);
}

}  // namespace tickpath::config::detail

namespace tickpath::config {

Parameters load_parameters(std::string_view text, const std::string& name) {
  detail::Value value;
  if (!detail::convert_parameters(detail::parse_document(text, name), value))
    throw ConfigError(
        {name + ": a list, a table or a date was found; allowed are integers, numbers, true, false "
                "and texts"});
  return std::get<Parameters>(value);
}

}  // namespace tickpath::config
