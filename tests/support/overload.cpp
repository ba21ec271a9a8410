#include "tests/support/overload.hpp"

#include <nlohmann/json.hpp>

namespace tickpath::test_support {
std::vector<std::string> flood(const PipelineFolder& folder, std::uint64_t rate, int seconds) {
  folder.trade_only_by("flood",
                       "name = \"flood\"\n\n[plugin.parameters]\nrate = " + std::to_string(rate) +
                           "\nwindow = \"" + std::to_string(seconds) + "s\"\n");
  folder.edit("oeg", "messages_per_second_max = 50_000", "messages_per_second_max = 0");
  // Segments that last for seconds at such a rate, however long the disk takes to make the next
  // one.
  folder.edit("oeg", "[journal]\nrecords = 65536\n",
              "[journal]\nrecords = 524288\narchived_max = 2\n");
  return {"--set", "risk:order_limits.messages_per_second_max=0", "--set",
          "risk:limits.requests_per_second_max=0"};
}

OverloadResult run_overload(const PipelineFolder& folder, std::uint64_t rate, int seconds) {
  const std::vector<std::string> settings = flood(folder, rate, seconds);
  const int day_seconds = seconds + 3;  // the strategies start a little after the recording
  const std::string recording =
      folder.generate(static_cast<std::uint64_t>(day_seconds) * 7000, day_seconds);
  OverloadResult result{
      .up = folder.run_up(recording, settings, std::chrono::seconds(day_seconds + 120)),
      .seconds = double(seconds)};
  const nlohmann::json oeg = nlohmann::json::parse(folder.summary("oeg"), nullptr, false);
  if (!oeg.is_object()) return result;
  result.sent = oeg.at("orders").at("sent");
  result.answered = oeg.at("orders").at("accepted").get<std::uint64_t>() +
                    oeg.at("orders").at("rejected").get<std::uint64_t>();
  result.refused = oeg.at("orders").at("refused");
  result.reports_dropped = oeg.at("reports").at("dropped");
  std::string log = read_file(folder.run_dir() + "/oeg.log");
  const std::string mark = " is cut off: ";
  for (std::size_t at = log.find(mark); at != std::string::npos; at = log.find(mark, at + 1))
    ++result.cut_off;
  const std::string refusals = " refused ";
  for (std::size_t at = log.find(refusals); at != std::string::npos;
       at = log.find(refusals, at + 1))
    result.reasons += log.substr(at, log.find('\n', at) - at) + "\n";
  return result;
}

}  // namespace tickpath::test_support
