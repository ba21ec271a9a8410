// Distributions as text and as SVG (W3C, Scalable Vector Graphics 1.1): logarithmic bins, one panel
// a row of the table.
#include <algorithm>

#include "common/base/format.hpp"
#include "tools/perf/perf.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr int kPanelWidth = 720, kPanelHeight = 150, kPlotLeft = 60, kPlotTop = 30;
constexpr int kPlotWidth = 640, kPlotHeight = 85;

std::uint64_t highest(const std::vector<HistogramBin>& histogram) {
  std::uint64_t most = 1;
  for (const HistogramBin& bin : histogram) most = std::max(most, bin.count);
  return most;
}

void append_panel(std::string& svg, const PerfRow& row, int top) {
  const LatencyColumns& c = row.latency;
  const auto bins = static_cast<double>(c.histogram.size());
  const auto most = static_cast<double>(highest(c.histogram));
  svg += formatted(
      "<text x='%d' y='%d' class='title'>%s %u bytes: typical %.3f us, 99%% %.3f us, 99.9%% "
      "%.3f us, max %.3f us, %llu messages</text>\n",
      kPlotLeft, top + 20, to_string(row.what.operation).data(), row.what.size_bytes, c.typical,
      c.p99, c.p999, c.max, static_cast<unsigned long long>(c.iterations));
  const int bottom = top + kPlotTop + kPlotHeight;
  for (std::size_t i = 0; i < c.histogram.size(); ++i) {
    const HistogramBin& bin = c.histogram[i];
    if (bin.count == 0) continue;
    // A bin of one message among millions is still to be seen.
    const double height = std::max(1.0, static_cast<double>(bin.count) / most * kPlotHeight);
    svg += formatted(
        "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f'><title>%.3f to %.3f us: "
        "%llu</title></rect>\n",
        kPlotLeft + static_cast<double>(i) / bins * kPlotWidth, bottom - height,
        std::max(1.0, kPlotWidth / bins - 1), height, bin.low_us, bin.high_us,
        static_cast<unsigned long long>(bin.count));
  }
  svg += formatted("<line x1='%d' y1='%d' x2='%d' y2='%d'/>\n", kPlotLeft, bottom,
                   kPlotLeft + kPlotWidth, bottom);
  constexpr int kLabels = 6;
  for (int label = 0; label < kLabels; ++label) {
    const double part = static_cast<double>(label) / (kLabels - 1);
    const auto index = static_cast<std::size_t>(part * (bins - 1));
    svg += formatted("<text x='%.1f' y='%d' class='label'>%.3g us</text>\n",
                     kPlotLeft + static_cast<double>(index) / bins * kPlotWidth, bottom + 16,
                     c.histogram[index].low_us);
  }
}

}  // namespace

std::string to_histogram_text(const PerfReport& report) {
  constexpr int kBar = 60;
  std::string text;
  for (const PerfRow& row : report.rows) {
    text += formatted("\n%s %u bytes\n", to_string(row.what.operation).data(), row.what.size_bytes);
    const auto most = static_cast<double>(highest(row.latency.histogram));
    bool gap = false;
    for (const HistogramBin& bin : row.latency.histogram) {
      if (bin.count == 0) {
        if (!gap) text += "              ...\n";
        gap = true;
        continue;
      }
      gap = false;
      const int length =
          std::max(1, static_cast<int>(static_cast<double>(bin.count) / most * kBar));
      text +=
          formatted("%10.3f us %10llu %s\n", bin.low_us, static_cast<unsigned long long>(bin.count),
                    std::string(static_cast<std::size_t>(length), '#').c_str());
    }
  }
  return text;
}

std::string to_svg(const PerfReport& report) {
  std::string svg;
  svg += formatted(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d'>\n",
      kPanelWidth, 40 + kPanelHeight * static_cast<int>(report.rows.size()), kPanelWidth,
      40 + kPanelHeight * static_cast<int>(report.rows.size()));
  svg +=
      "<style>text{font:12px sans-serif;fill:#222} .title{font-weight:bold} "
      ".label{font-size:10px;fill:#666} rect{fill:#2a6fb0} .back{fill:#fff} "
      "line{stroke:#888}</style>\n<rect class='back' width='100%' height='100%'/>\n";
  svg += formatted("<text x='%d' y='24'>tickpath lat: provider %s (%s), server %s</text>\n",
                   kPlotLeft, report.options.provider.c_str(), report.device.c_str(),
                   report.options.mode == PerfMode::kForked ? "forked" : "remote");
  int top = 40;
  for (const PerfRow& row : report.rows) {
    append_panel(svg, row, top);
    top += kPanelHeight;
  }
  return svg + "</svg>\n";
}

}  // namespace tickpath::rdma::perf
