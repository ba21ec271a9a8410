#include "tools/report/doctor_findings.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"

namespace tickpath::report {
namespace {

using nlohmann::ordered_json;

struct Explains {
  std::string_view finding;  // what its id begins with
  std::string_view hop;      // that it makes slow
};
// Programs poll the memory in which others leave messages. So a thread that is stopped shows at the
// hop in which the next one looks there. The network stack shows where packets come and go.
constexpr auto kExplains = std::to_array<Explains>({
    {"net.rmem_max", "mdh.kernel_rx -> mdh.rx"},
    {"irq.", "sim.sent -> mdh.kernel_rx"},
    {"irq.", "mdh.kernel_rx -> mdh.rx"},
    {"clock.", "mdh.kernel_rx -> mdh.rx"},
    {"rdma.", "mdh.posted -> strategy.seen"},
    {"rdma.", "strategy.posted -> oeg.seen"},
    {"memory.", "mdh.rx -> mdh.book"},
    {"memory.", "strategy.seen -> strategy.decided"},
    {"cpu.", "mdh.kernel_rx -> mdh.rx"},
    {"cpu.", "mdh.posted -> strategy.seen"},
    {"cpu.", "strategy.posted -> oeg.seen"},
    {"config.cores", "mdh.posted -> strategy.seen"},
    {"config.cores", "strategy.posted -> oeg.seen"},
    {"limits.real_time", "mdh.posted -> strategy.seen"},
});

}  // namespace

std::vector<std::string_view> hops_of_finding(std::string_view id) {
  std::vector<std::string_view> hops;
  for (const Explains& each : kExplains)
    if (id.starts_with(each.finding)) hops.push_back(each.hop);
  return hops;
}

ordered_json doctor_json(const std::vector<std::string>& run_dirs) {
  ordered_json findings;
  for (const std::string& run_dir : run_dirs) {
    const std::string path = run_dir + "/doctor.json";
    if (!std::filesystem::exists(path)) continue;
    if (findings.is_null()) findings = ordered_json::array();
    std::ifstream file(path);
    const auto said = ordered_json::parse(file, nullptr, false);
    if (said.is_discarded() || !said.contains("findings"))
      throw Error(path + " is damaged: it is not what `tickpath doctor --json` prints");
    for (const auto& each : said.at("findings")) {
      const std::string state = each.value("state", "");
      if (state != "warn" && state != "fail") continue;
      ordered_json finding = each;
      finding["hops"] = hops_of_finding(each.value("id", ""));
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace tickpath::report
