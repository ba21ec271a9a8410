#include "sim/latency/latency_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string_view>

#include "common/base/error.hpp"
#include "common/files/byte_source.hpp"

namespace tickpath::sim {
namespace {

// A day of order entry; longer traces are a mistake in the file.
constexpr std::size_t kSamplesMax = 1u << 26;

std::string read_text(const std::string& path) {
  const auto source = files::open_file(path);
  std::string text;
  std::vector<std::byte> block(1 << 16);
  for (;;) {
    const std::size_t got = source->read(block);
    if (got == 0 && !source->error().empty()) throw Error(path + ": " + source->error());
    if (got == 0) return text;
    text.append(reinterpret_cast<const char*>(block.data()), got);
  }
}

}  // namespace

std::vector<std::uint64_t> read_latencies(const std::string& path) {
  const std::string text = read_text(path);
  std::vector<std::uint64_t> samples;
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    line = line.substr(0, line.find(','));
    std::uint64_t value = 0;
    const auto result = std::from_chars(line.data(), line.data() + line.size(), value);
    if (result.ec != std::errc{} || result.ptr != line.data() + line.size())
      throw Error(path + ":" + std::to_string(number) + ": '" + std::string(line) +
                  "' is no latency: a whole number of nanoseconds is needed");
    if (samples.size() == kSamplesMax)
      throw Error(path + ": more than " + std::to_string(kSamplesMax) + " latencies");
    samples.push_back(value);
  }
  if (samples.empty()) throw Error(path + ": not one latency");
  return samples;
}

LatencyModel::LatencyModel(const LatencyOptions& options, std::uint64_t seed)
    : options_(options), random_(seed) {
  if (options.kind == LatencyKind::kEmpirical || options.kind == LatencyKind::kTrace)
    samples_ = read_latencies(options.file);
}

// Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
double LatencyModel::normal() noexcept {
  const double radius = std::sqrt(-2 * std::log(1 - random_.unit()));
  return radius * std::cos(2 * std::numbers::pi * random_.unit());
}

std::uint64_t LatencyModel::bounded(double ns) const noexcept {
  return static_cast<std::uint64_t>(std::clamp(ns, 0.0, static_cast<double>(options_.limit_ns)));
}

std::uint64_t LatencyModel::draw_ns() noexcept {
  const auto delay = static_cast<double>(options_.delay_ns);
  const auto spread = static_cast<double>(options_.spread_ns);
  switch (options_.kind) {
    case LatencyKind::kNone:
      return 0;
    case LatencyKind::kFixed:
      return bounded(delay);
    case LatencyKind::kUniform:
      return bounded(delay + spread * random_.unit());
    case LatencyKind::kNormal:
      return bounded(delay + spread * normal());
    case LatencyKind::kLognormal:
      return bounded(delay * std::exp(options_.sigma * normal()));
    case LatencyKind::kEmpirical:
      return bounded(static_cast<double>(samples_[random_.below(samples_.size())]));
    case LatencyKind::kTrace: {
      const std::uint64_t sample = samples_[next_];
      next_ = next_ + 1 == samples_.size() ? 0 : next_ + 1;
      return bounded(static_cast<double>(sample));
    }
  }
  return 0;
}

TscTicks LatencyStage::due(TscTicks now) noexcept {
  if (!active()) [[likely]]
    return now;
  TscTicks due{now.value + converter_.from_ns(model_.draw_ns()).value};
  counters_.delayed.add();
  if (due < last_) {
    counters_.held_back.add();
    due = last_;
  }
  counters_.total_ns.add(converter_.to_ns(due - now));
  last_ = due;
  return due;
}

}  // namespace tickpath::sim
