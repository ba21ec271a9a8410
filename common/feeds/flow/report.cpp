#include "common/feeds/flow/report.hpp"

#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace tickpath::flow {
namespace {

std::string number(double value) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), std::abs(value) >= 1000 ? "%.0f" : "%.3g", value);
  return text;
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

}  // namespace

std::string report_text(const std::vector<Column>& columns) {
  if (columns.empty() || columns[0].values.empty()) return "no events\n";
  constexpr std::size_t kWidth = 14;
  char line[256];
  std::snprintf(line, sizeof(line), "%-12s%-30s%-10s", "", "", "");
  std::string text = line;
  for (const Column& column : columns) text += padded(column.title, kWidth);
  text += columns.size() == 2 ? "         ratio\n" : "\n";
  std::snprintf(line, sizeof(line), "%-12s%-30s%-10s", "", "events", "");
  text += line;
  for (const Column& column : columns) text += padded(std::to_string(column.events), kWidth);
  text += "\n";
  std::string group;
  for (std::size_t row = 0; row < columns[0].values.size(); ++row) {
    const Statistic& first = columns[0].values[row];
    std::snprintf(line, sizeof(line), "%-12s%-30s%-10s",
                  first.group == group ? "" : first.group.c_str(), first.name.c_str(),
                  first.unit.c_str());
    group = first.group;
    text += line;
    for (const Column& column : columns)
      text += padded(row < column.values.size() ? number(column.values[row].value) : "-", kWidth);
    if (columns.size() == 2 && row < columns[1].values.size())
      text += padded(number(first.value / columns[1].values[row].value), kWidth);
    text += "\n";
  }
  return text;
}

std::string report_json(const std::vector<Column>& columns) {
  nlohmann::ordered_json json;
  json["columns"] = nlohmann::ordered_json::array();
  for (const Column& column : columns)
    json["columns"].push_back({{"title", column.title}, {"events", column.events}});
  json["statistics"] = nlohmann::ordered_json::array();
  if (columns.empty()) return json.dump() + "\n";
  for (std::size_t row = 0; row < columns[0].values.size(); ++row) {
    const Statistic& first = columns[0].values[row];
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (const Column& column : columns) {
      const double value = row < column.values.size() ? column.values[row].value : NAN;
      values.push_back(std::isfinite(value) ? nlohmann::ordered_json(value)
                                            : nlohmann::ordered_json(nullptr));
    }
    json["statistics"].push_back(
        {{"group", first.group}, {"name", first.name}, {"unit", first.unit}, {"values", values}});
  }
  return json.dump() + "\n";
}

}  // namespace tickpath::flow
