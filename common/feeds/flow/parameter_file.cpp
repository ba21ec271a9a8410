#include "common/feeds/flow/parameter_file.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

#include "common/feeds/recordings/recording.hpp"

namespace tickpath::flow {
namespace {

using itch::FlowParameters;
using itch::RecordingError;

// Every field by name, for whoever reads or writes them.
template <class Parameters, class Field>
void for_each_field(Parameters& p, const Field& field) {
  field("origin", p.origin);
  field("events_per_second", p.events_per_second);
  field("share", p.share);
  field("kernel_s", p.kernel_s);
  field("branching", p.branching);
  field("kernel_share", p.kernel_share);
  field("spread_ticks", p.spread_ticks);
  field("behind", p.behind);
  field("inside", p.inside);
  field("shares", p.shares);
  field("executed", p.executed);
  field("age_rank", p.age_rank);
  field("replace_share", p.replace_share);
  field("sign_persistence", p.sign_persistence);
}

// Four significant digits: more than any recording is worth.
std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}
std::string text_of(const std::string& value) { return nlohmann::json(value).dump(); }
template <std::size_t N>
std::string text_of(const std::array<double, N>& values) {
  std::string text = "{";
  for (const double each : values) text += (text.size() > 1 ? ", " : "") + text_of(each);
  return text + "}";
}
template <std::size_t N, std::size_t M>
std::string text_of(const std::array<std::array<double, N>, M>& rows) {
  std::string text = "{{";
  for (const auto& row : rows) text += "\n        " + text_of(row) + ",";
  return text + "\n    }}";
}

void require(bool holds, const std::filesystem::path& path, const std::string& what) {
  if (!holds) throw RecordingError(path.string() + ": no flow parameters: " + what);
}

bool is_share(double value) { return value >= 0 && value <= 1; }

// What would make the generator wrong rather than odd.
void check(const FlowParameters& p, const std::filesystem::path& path) {
  double sum = 0;
  for (const double each : p.share) {
    require(is_share(each), path, "a share lies between 0 and 1");
    sum += each;
  }
  require(sum > 0.99 && sum < 1.01, path, "the shares sum to 1");
  require(std::ranges::all_of(p.kernel_s, [](double s) { return s > 0; }), path,
          "kernel times are above 0");
  for (const auto& row : p.branching)
    require(std::ranges::all_of(row, [](double n) { return n >= 0 && n < 100; }), path,
            "branching numbers lie between 0 and 100");
  for (const auto& row : p.kernel_share) {
    double all = 0;
    for (const double each : row) {
      require(is_share(each), path, "kernel shares lie between 0 and 1");
      all += each;
    }
    require(all > 0.99 && all < 1.01, path, "the kernel shares of a kind sum to 1");
  }
  for (const auto* table : {&p.behind, &p.inside, &p.shares, &p.executed, &p.age_rank})
    require(std::ranges::all_of(*table, [](double v) { return v >= 0 && v <= 1e6; }) &&
                std::ranges::is_sorted(*table),
            path, "quantiles rise from 0, to 1,000,000 at most");
  require(is_share(p.replace_share) && is_share(p.sign_persistence), path,
          "replace_share and sign_persistence lie between 0 and 1");
}

}  // namespace

std::string to_json(const FlowParameters& parameters) {
  nlohmann::ordered_json json;
  for_each_field(parameters, [&json](const char* name, const auto& value) { json[name] = value; });
  return json.dump(1) + "\n";
}

std::string to_cpp(const FlowParameters& parameters) {
  std::string text =
      "// Written by `tickpath generate --calibrate RECORDING --cpp`.\n"
      "#include \"common/feeds/generator/flow_parameters.hpp\"\n\nnamespace tickpath::itch {\n\n"
      "const FlowParameters& default_flow_parameters() {\n"
      "  static const FlowParameters parameters{\n";
  for_each_field(parameters, [&text](const char* name, const auto& value) {
    text += "      ." + std::string(name) + " = " + text_of(value) + ",\n";
  });
  return text + "  };\n  return parameters;\n}\n\n}  // namespace tickpath::itch\n";
}

FlowParameters load_parameters(const std::filesystem::path& path) {
  std::ifstream file(path);
  require(file.good(), path, "cannot read the file");
  FlowParameters parameters;
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    for_each_field(parameters,
                   [&json](const char* name, auto& value) { json.at(name).get_to(value); });
  } catch (const nlohmann::json::exception& error) {
    require(false, path, error.what());
  }
  check(parameters, path);
  return parameters;
}

}  // namespace tickpath::flow
