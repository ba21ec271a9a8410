#include "tools/cli/flow_report.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "common/base/error.hpp"
#include "common/feeds/flow/hawkes_fit.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::cli {

double parse_rate(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  std::string unit(end);
  const auto take = [&unit](const char* what, std::size_t at) {
    if (unit.compare(at, std::string::npos, what) != 0) return false;
    unit.resize(at);
    return true;
  };
  if (end == text.c_str()) unit = "?";
  const std::size_t slash = std::min(unit.find('/'), unit.size());
  if (take("/h", slash))
    value /= 3600;
  else
    (void)take("/s", slash);
  if (unit == "k")
    value *= 1e3;
  else if (unit == "M")
    value *= 1e6;
  else if (!unit.empty())
    throw Error("\"" + text + "\" is no rate: 20000, 8k/s, 30M/h");
  if (!(value > 0)) throw Error("a rate is above 0, not \"" + text + "\"");
  return value;
}

flow::FlowRecord observe_file(const std::string& file) {
  const std::uint16_t locate = flow::busiest_locate(*itch::open_recording(file));
  if (locate == 0) throw itch::RecordingError(file + ": has no messages of any symbol");
  return flow::observe(*itch::open_recording(file), locate);
}

flow::FlowRecord observe_generated(const itch::GeneratorOptions& options) {
  // By construction the first symbol is the busiest.
  itch::Generator generator(options);
  return flow::observe(generator, 1);
}

itch::FlowParameters calibrate_on(const std::string& file) {
  return flow::calibrate(observe_file(file), std::filesystem::path(file).filename().string());
}

void match_length(const flow::FlowRecord& real, itch::GeneratorOptions& options) {
  if (real.events.size() < 2) return;
  const double seconds =
      static_cast<double>(real.events.back().time_ns - real.events.front().time_ns) * 1e-9;
  options.messages =
      std::max(itch::generator_minimum_messages(options.symbols, options.auctions, options.days),
               std::uint64_t{real.events.size()});
  options.messages_per_second = static_cast<double>(options.messages) / std::max(seconds, 1e-3);
}

flow::Column column_of(const std::string& title, const flow::FlowRecord& record) {
  const std::string name = std::filesystem::path(title).filename().string();
  return {name.size() > 13 ? name.substr(0, 13) : name, flow::statistics(record),
          record.events.size()};
}

}  // namespace tickpath::cli
