// Three pictures in plain SVG. All coordinates are in SVG user units (pixels at 100 %).
#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/format.hpp"
#include "common/trace/report.hpp"

namespace tickpath::trace {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 250;  // room for hop names
constexpr double kRight = 90;  // room for values
constexpr double kPlot = kWidth - kLeft - kRight;

std::string time_label(double ns) {
  if (ns < 1e3) return formatted("%.0f ns", ns);
  if (ns < 1e6) return formatted("%.3g us", ns / 1e3);
  if (ns < 1e9) return formatted("%.3g ms", ns / 1e6);
  return formatted("%.3g s", ns / 1e9);
}

// Latencies span decades: every time axis here is logarithmic.
struct LogAxis {
  double low;                      // ns, a power of ten
  double high;                     // ns, a power of ten
  double place(double ns) const {  // 0..1
    const double clamped = std::clamp(ns, low, high);
    return (std::log10(clamped) - std::log10(low)) / (std::log10(high) - std::log10(low));
  }
};

LogAxis axis_for(double smallest, double largest) {
  const double low = std::pow(10, std::floor(std::log10(std::max(smallest, 10.0))));
  const double high = std::pow(10, std::ceil(std::log10(std::max(largest, low * 10))));
  return {low, high};
}

std::string text_at(double x, double y, std::string_view text, const char* anchor = "start") {
  return formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) +
         html_escaped(text) + "</text>\n";
}

std::string vertical_grid(const LogAxis& axis, double top, double bottom) {
  std::string svg;
  for (double ns = axis.low; ns <= axis.high * 1.001; ns *= 10) {
    const double x = kLeft + axis.place(ns) * kPlot;
    svg += formatted("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x,
                     x, top, bottom);
    svg += text_at(x, bottom + 16, time_label(ns), "middle");
  }
  return svg;
}

// Begins a picture; label: what a screen reader says in its place.
std::string picture_of(double height, std::string_view label) {
  return formatted("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", kWidth, height) +
         html_escaped(label) + "\">\n";
}

}  // namespace

std::string hops_picture(const std::vector<Interval>& rows) {
  constexpr double kRow = 26;
  double smallest = 1e18;
  double largest = 0;
  for (const Interval& row : rows) {
    if (row.distribution.count == 0) continue;
    smallest = std::min(smallest, static_cast<double>(row.distribution.p50));
    largest = std::max(largest, static_cast<double>(row.distribution.p999));
  }
  const LogAxis axis = axis_for(smallest, largest);
  const double bottom = 10 + kRow * static_cast<double>(rows.size());
  std::string svg = picture_of(bottom + 30, "Each hop from its median to its p99.9");
  svg += vertical_grid(axis, 6, bottom);
  double y = 10;
  for (const Interval& row : rows) {
    const Distribution& d = row.distribution;
    svg += text_at(kLeft - 8, y + 16, row.name, "end");
    if (d.count != 0) {
      const double start = kLeft + axis.place(static_cast<double>(d.p50)) * kPlot;
      const double end = kLeft + axis.place(static_cast<double>(d.p99)) * kPlot;
      const double far = kLeft + axis.place(static_cast<double>(d.p999)) * kPlot;
      svg += formatted("<line class=\"tail\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                       end, far, y + 12, y + 12);
      svg += formatted("<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\"/>\n",
                       start, y + 5, std::max(end - start, 2.0));
      svg += text_at(kLeft + kPlot + 8, y + 16, time_label(static_cast<double>(d.p50)));
    }
    y += kRow;
  }
  return svg + "</svg>\n";
}

std::string percentiles_picture(const Interval& row) {
  constexpr double kTop = 12;
  constexpr double kBottom = 300;
  if (row.sorted_ns.empty())
    return "<p>No order of this run has both stamps: there is nothing to show.</p>\n";
  const auto count = static_cast<double>(row.sorted_ns.size());
  const double decades = std::max(1.0, std::ceil(std::log10(count)));
  const LogAxis axis = axis_for(static_cast<double>(row.sorted_ns.front()),
                                static_cast<double>(row.sorted_ns.back()));
  const auto height = [&](double ns) { return kBottom - axis.place(ns) * (kBottom - kTop); };
  std::string svg = picture_of(kBottom + 34, row.name + " by percentile");
  for (double ns = axis.low; ns <= axis.high * 1.001; ns *= 10) {
    svg += formatted("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                     kLeft, kLeft + kPlot, height(ns), height(ns));
    svg += text_at(kLeft - 8, height(ns) + 4, time_label(ns), "end");
  }
  const std::array<const char*, 8> names{"0",       "90 %",     "99 %",      "99.9 %",
                                         "99.99 %", "99.999 %", "99.9999 %", "99.99999 %"};
  for (int decade = 0; decade <= static_cast<int>(decades) && decade < 8; ++decade) {
    const double x = kLeft + decade / decades * kPlot;
    svg += formatted("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x,
                     x, kTop, kBottom);
    svg += text_at(x, kBottom + 18, names[static_cast<std::size_t>(decade)], "middle");
  }
  svg += "<polyline class=\"curve\" points=\"";
  constexpr int kSteps = 400;
  for (int step = 0; step <= kSteps; ++step) {
    const double place = static_cast<double>(step) / kSteps;
    const double fraction = 1 - std::pow(10, -place * decades);
    const double ns = static_cast<double>(percentile(row.sorted_ns, fraction * 100));
    svg += formatted("%.1f,%.1f ", kLeft + place * kPlot, height(ns));
  }
  return svg + "\"/>\n</svg>\n";
}

std::string scatter_picture(const std::vector<OrderSample>& orders) {
  constexpr double kTop = 12;
  constexpr double kBottom = 240;
  constexpr std::size_t kPointsMax = 2000;  // what a browser draws at once
  if (orders.empty()) return "";
  double smallest = 1e18;
  double largest = 0;
  for (const OrderSample& order : orders) {
    smallest = std::min(smallest, static_cast<double>(order.tick_to_order_ns));
    largest = std::max(largest, static_cast<double>(order.tick_to_order_ns));
  }
  const LogAxis axis = axis_for(smallest, largest);
  const double seconds = std::max(orders.back().since_start_s, 1e-3);
  std::string svg = picture_of(kBottom + 34, "Tick-to-order over the run");
  for (double ns = axis.low; ns <= axis.high * 1.001; ns *= 10) {
    const double y = kBottom - axis.place(ns) * (kBottom - kTop);
    svg += formatted("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                     kLeft, kLeft + kPlot, y, y);
    svg += text_at(kLeft - 8, y + 4, time_label(ns), "end");
  }
  const std::size_t stride = orders.size() / kPointsMax + 1;
  for (std::size_t index = 0; index < orders.size(); index += stride) {
    const OrderSample& order = orders[index];
    const double y =
        kBottom - axis.place(static_cast<double>(order.tick_to_order_ns)) * (kBottom - kTop);
    svg += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.6\"/>\n",
                     kLeft + order.since_start_s / seconds * kPlot, y);
  }
  svg += text_at(kLeft, kBottom + 20, "first tick");
  svg += text_at(kLeft + kPlot, kBottom + 20, formatted("%.1f s later", seconds), "end");
  if (stride > 1) {
    svg += text_at(kLeft + kPlot / 2, kBottom + 20, formatted("one of %zu orders drawn", stride),
                   "middle");
  }
  return svg + "</svg>\n";
}

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char each : text) {
    switch (each) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += each;
    }
  }
  return result;
}

}  // namespace tickpath::trace
