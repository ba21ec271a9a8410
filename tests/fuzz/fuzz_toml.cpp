// Whatever a configuration file holds, reading it ends in a configuration or in a ConfigError; what
// it accepts, it prints, and reads back to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/config/config.hpp"

namespace {

using namespace tickpath::config;

enum class Choice : std::uint8_t { kOne, kTwo };

struct Element {
  std::string text;
  Parameters parameters;
};
struct Config {
  std::string text = "t";
  std::int32_t integer = 1;
  double real = 1.5;
  bool flag = false;
  Choice choice = Choice::kOne;
  std::int64_t duration_ns = 0;
  std::uint64_t size_bytes = 0;
  Address address{"h", 1};
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::vector<Element> elements;
};

Schema<Config> make_schema() {
  Schema<Element> element;
  element.text("text", &Element::text, "a text").required();
  element.parameters("parameters", &Element::parameters, "free");
  Schema<Config> schema;
  schema.text("text", &Config::text, "a text");
  schema.integer("a.integer", &Config::integer, {-5, 100}, "things", "an integer");
  schema.real("a.real", &Config::real, {-1, 1e300}, "", "a real");
  schema.flag("a.b.flag", &Config::flag, "a flag");
  schema.choice("choice", &Config::choice, {{"one", Choice::kOne}, {"two", Choice::kTwo}}, "one");
  schema.duration("duration", &Config::duration_ns, {0, INT64_MAX}, "a duration");
  schema.size("size", &Config::size_bytes, {0, INT64_MAX}, "a size");
  schema.address("address", &Config::address, "an address");
  schema.integers("integers", &Config::integers, {0, 9}, "", "a list");
  schema.texts("texts", &Config::texts, "a list");
  schema.tables("element", &Config::elements, element, {0, 8}, "tables");
  return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Schema<Config> schema = make_schema();
  const std::string input(reinterpret_cast<const char*>(data), size);
  // The first line, if it looks like one, is an override.
  const std::size_t end = input.find('\n');
  std::vector<std::string> overrides;
  if (end != std::string::npos && input[0] == '!') overrides.push_back(input.substr(1, end - 1));
  const std::string text = overrides.empty() ? input : input.substr(end + 1);
  try {
    const Config config = load_text(schema, text, "fuzz", overrides);
    const std::string printed = print_effective(schema, config);
    const Config again = load_text(schema, printed, "printed");
    if (print_effective(schema, again) != printed) std::abort();
  } catch (const ConfigError& error) {
    if (error.problems().empty()) std::abort();
  }
  return 0;
}
