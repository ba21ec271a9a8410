// A look at a pipeline in Prometheus's text format.
//
// Source: prometheus.io, "Exposition formats", text-based format, version 0.0.4; names and units by
// "Metric and label naming".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/watch/lookout.hpp"

namespace tickpath::watch {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Families of samples; each is written once, with all of its samples.
class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;
  enum class Type : unsigned char { kCounter, kGauge, kHistogram, kUntyped };

  // Samples from here on are of this family; one that was begun before is taken up again.
  void family(std::string_view name, Type type, std::string_view help);
  void sample(const Labels& labels, double value) { sample("", labels, value); }
  // ending: "_bucket", "_sum", "_count" of a histogram.
  void sample(std::string_view ending, const Labels& labels, double value);
  std::string text() const;

 private:
  struct Family {
    std::string name;
    Type type;
    std::string help;
    std::string samples;
  };
  std::vector<Family> families_;
  std::size_t current_ = 0;
};

// all: every counter of every program as well, by its group and name (tickpath_counter).
std::string metrics_text(const Snapshot& snapshot, bool all);

// Which counters of which programs are metrics of their own, for a test that they are there.
struct CounterMetric {
  std::string_view program;  // "": of every program
  std::string_view group;
  std::string_view counter;
  std::string_view name;
  std::string_view help;
};
const std::vector<CounterMetric>& counter_metrics();

}  // namespace tickpath::watch
