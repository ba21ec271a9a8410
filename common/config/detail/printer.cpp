// The configuration in effect, as TOML that loads again.
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "common/config/detail/allowed.hpp"
#include "common/config/detail/schema_core.hpp"

namespace tickpath::config::detail {
namespace {

std::string quoted(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += "\\u00";
      result += kHex[static_cast<unsigned char>(c) >> 4];
      result += kHex[c & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string real_text(double real) {
  if (std::isnan(real)) return "nan";
  if (std::isinf(real)) return real < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), real);
  std::string text(buffer, end);
  // TOML tells reals from integers by the point or the exponent.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// A key that TOML takes bare stays bare.
std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && key.find_first_not_of(
                                        "abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-") == std::string::npos;
  return bare ? key : quoted(key);
}

std::string value_text(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* real = std::get_if<double>(&value)) return real_text(*real);
  return std::to_string(std::get<std::int64_t>(value));
}

template <class List, class Text>
std::string list_text(const List& list, Text text) {
  std::string result = "[";
  for (const auto& item : list) result += (result.size() > 1 ? ", " : "") + text(item);
  return result + "]";
}

std::string value_text(const Field& field, const Value& value) {
  switch (field.kind) {
    case Kind::kDuration:
      return quoted(format_duration(std::get<std::int64_t>(value)));
    case Kind::kSize:
      return quoted(format_size(static_cast<std::uint64_t>(std::get<std::int64_t>(value))));
    case Kind::kAddress:
      return quoted(format_address(std::get<Address>(value)));
    case Kind::kChoice:
      for (const auto& [name, number] : field.choices)
        if (number == std::get<std::int64_t>(value)) return quoted(name);
      return quoted("?");
    case Kind::kReal:
      return real_text(std::get<double>(value));
    case Kind::kFlag:
      return std::get<bool>(value) ? "true" : "false";
    case Kind::kInteger:
      for (const auto& [name, number] : field.choices)
        if (number == std::get<std::int64_t>(value)) return quoted(name);
      return std::to_string(std::get<std::int64_t>(value));
    case Kind::kIntegers:
      return list_text(std::get<std::vector<std::int64_t>>(value),
                       [](std::int64_t item) { return std::to_string(item); });
    case Kind::kTexts:
      return list_text(std::get<std::vector<std::string>>(value), quoted);
    default:
      return quoted(std::get<std::string>(value));
  }
}

std::string section_of(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

class Printer {
 public:
  std::string take() { return std::move(text_); }

  // prefix: of the headers, "plugin." inside [[plugin]].
  void print(const SchemaCore& schema, const void* config, const std::string& prefix) {
    print_section(schema, config, "");
    std::set<std::string> done{""};
    for (const Field& field : schema.fields()) {
      const std::string section = section_of(field.key);
      if (is_table(field) || !done.insert(section).second) continue;
      text_ += "\n[" + prefix + section + "]\n";
      print_section(schema, config, section);
    }
    for (const Field& field : schema.fields()) {
      if (field.kind == Kind::kParameters) print_parameters(field, config, prefix);
      if (field.kind == Kind::kTables) print_tables(field, config, prefix);
    }
  }

 private:
  static bool is_table(const Field& field) {
    return field.kind == Kind::kTables || field.kind == Kind::kParameters;
  }

  void comment(const Field& field) {
    text_ +=
        "# " + field.help + " (" + allowed(field) + (field.required ? "; required" : "") + ")\n";
  }

  void print_section(const SchemaCore& schema, const void* config, const std::string& section) {
    for (const Field& field : schema.fields()) {
      if (is_table(field) || section_of(field.key) != section) continue;
      comment(field);
      const std::string name = field.key.substr(section.empty() ? 0 : section.size() + 1);
      text_ += name + " = " + value_text(field, field.get(config)) + "\n";
    }
  }

  void print_parameters(const Field& field, const void* config, const std::string& prefix) {
    const Value held = field.get(config);
    text_ += "\n";
    comment(field);
    text_ += "[" + prefix + field.key + "]\n";
    for (const Parameter& parameter : std::get<Parameters>(held))
      text_ += key_text(parameter.key) + " = " + value_text(parameter.value) + "\n";
  }

  void print_tables(const Field& field, const void* config, const std::string& prefix) {
    const std::size_t count = field.size(config);
    text_ += "\n";
    comment(field);
    if (count == 0) text_ += "# [[" + prefix + field.key + "]]\n";
    for (std::size_t i = 0; i < count; ++i) {
      text_ += "[[" + prefix + field.key + "]]\n";
      // Reading only: element() wants a mutable struct because loading shares it.
      print(*field.table, field.element(const_cast<void*>(config), i), prefix + field.key + ".");
    }
  }

  std::string text_;
};

std::string range_text(const Field& field, std::string (*format)(std::int64_t)) {
  return "from " + format(field.min) + " to " + format(field.max);
}

std::string integer_range(const Field& field) {
  const bool open_below = field.min == std::numeric_limits<std::int64_t>::min();
  const bool open_above = field.max == std::numeric_limits<std::int64_t>::max();
  std::string text =
      open_below && open_above ? ""
      : open_above             ? " of at least " + std::to_string(field.min)
      : open_below
          ? " of at most " + std::to_string(field.max)
          : " " + range_text(field, [](std::int64_t value) { return std::to_string(value); });
  if (!field.unit.empty()) text += ", " + field.unit;
  if (field.power_of_two) text += ", a power of two";
  return text;
}

std::string names_text(const Field& field) {
  std::string text;
  for (const auto& [name, value] : field.choices) text += " \"" + name + "\"";
  return text;
}
std::string choices_text(const Field& field) { return "one of:" + names_text(field); }

}  // namespace

std::string allowed(const Field& field) {
  switch (field.kind) {
    case Kind::kText:
      return "a text";
    case Kind::kPath:
      return field.list ? "a path, or a list of paths without commas" : "a path";
    case Kind::kInteger:
      return "an integer" + integer_range(field) +
             (field.choices.empty() ? "" : ", or" + names_text(field));
    case Kind::kReal:
      return "a number from " + real_text(field.real_min) + " to " + real_text(field.real_max) +
             (field.unit.empty() ? "" : ", " + field.unit);
    case Kind::kFlag:
      return "true or false";
    case Kind::kChoice:
      return choices_text(field);
    case Kind::kDuration:
      return "a duration such as \"5ms\", " +
             range_text(field, [](std::int64_t ns) { return format_duration(ns); });
    case Kind::kSize:
      return "a size such as \"8MiB\", " + range_text(field, [](std::int64_t bytes) {
               return format_size(static_cast<std::uint64_t>(bytes));
             });
    case Kind::kAddress:
      return "an address \"host:port\"";
    case Kind::kIntegers:
      return "a list of integers" + integer_range(field);
    case Kind::kTexts:
      return "a list of texts";
    case Kind::kTables:
      return std::to_string(field.min) + " to " + std::to_string(field.max) + " tables";
    case Kind::kParameters:
      return "a table of integers, numbers, flags and texts";
  }
  return "?";
}

std::string print(const SchemaCore& schema, const void* config) {
  Printer printer;
  printer.print(schema, config, "");
  return printer.take();
}

}  // namespace tickpath::config::detail
