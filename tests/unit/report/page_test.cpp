// page_html(): one file, whatever is in its texts.
#include "tools/report/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/trace/hop.hpp"
#include "tests/support/folder.hpp"
#include "tools/report/doctor_findings.hpp"

namespace tickpath::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHostile = "</script><img src=x onerror=\"alert(1)\"><!--{{data}}";

PageContent hostile() {
  const nlohmann::json data{{"symbol", kHostile}};
  return {kHostile, {{kHostile, kHostile}}, {{kHostile, kHostile}}, kHostile, data.dump(), "",
          kHostile};
}

class Libraries : public testing::Test {
 protected:
  ChartLibraries libraries() {
    test_support::write_file(folder_ / "d3.min.js", "var d3 = \"</script>\";");
    test_support::write_file(folder_ / "dygraph.min.js", "var Dygraph;");
    test_support::write_file(folder_ / "dygraph.min.css", ".dygraph-legend {}");
    return read_libraries(folder_.path());
  }
  test_support::Folder folder_;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST_F(Libraries, TextsOfARunAreNoMarkup) {
  const std::string page = page_html(hostile(), libraries());
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_EQ(count(page, "onerror=\""), 0u);
  EXPECT_EQ(count(page, "</script"), 3u) << "data, libraries, our own";
  EXPECT_EQ(count(page, "{{data}}"), 9u) << "what stands in a part is no part: eight texts, data";
}

TEST_F(Libraries, DataIsReadBackAsItWas) {
  const std::string page = page_html(hostile(), libraries());
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  const auto data = nlohmann::json::parse(page.substr(at, page.find("</script", at) - at));
  EXPECT_EQ(data["symbol"], kHostile);
}

TEST_F(Libraries, NothingIsLoadedAndTheseScriptsAloneRun) {
  const std::string page = page_html({}, libraries());
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_EQ(count(page, "sha256-"), 2u);
  EXPECT_EQ(count(page, "src="), 0u);
  EXPECT_EQ(count(page, "@import"), 0u);
}

TEST_F(Libraries, AreNamedByTheirPackagesWhereTheyAreMissing) {
  const ChartLibraries none = read_libraries(folder_.path());
  EXPECT_THAT(none.missing, ElementsAre("node-d3", "libjs-dygraphs"));
  EXPECT_EQ(none.scripts, "");
  PageContent content;
  content.pictures = "<svg></svg>";
  const std::string page = page_html(content, none);
  EXPECT_THAT(page, HasSubstr("apt-get install node-d3 libjs-dygraphs"));
  EXPECT_THAT(page, HasSubstr("<svg></svg>"));
  EXPECT_EQ(count(page_html(content, libraries()), "apt-get install"), 0u);
}

TEST(DoctorFindings, StandBesideTheHopsThatTheyExplain) {
  test_support::Folder folder;
  EXPECT_TRUE(doctor_json({folder.path()}).is_null());
  test_support::write_file(
      folder / "doctor.json",
      R"({"findings": [{"id": "cpu.governor", "state": "warn", "current": "powersave"},
                       {"id": "cpu.smt", "state": "ok"}]})");
  const auto findings = doctor_json({folder.path()});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0]["id"], "cpu.governor");
  EXPECT_THAT(findings[0]["hops"], testing::Contains("mdh.posted -> strategy.seen"));
  test_support::write_file(folder / "doctor.json", "{");
  EXPECT_THROW((void)doctor_json({folder.path()}), Error);
}

TEST(DoctorFindings, NameHopsThatThereAre) {
  for (const char* id : {"net.rmem_max", "irq.affinity", "clock.tsc", "rdma.devices",
                         "memory.huge_pages", "cpu.governor", "config.cores", "limits.real_time"}) {
    EXPECT_FALSE(hops_of_finding(id).empty()) << id;
    for (const std::string_view hop : hops_of_finding(id)) {
      const std::size_t arrow = hop.find(" -> ");
      ASSERT_NE(arrow, std::string_view::npos);
      const auto from = trace::hop_named(hop.substr(0, arrow));
      const auto to = trace::hop_named(hop.substr(arrow + 4));
      EXPECT_EQ(trace::place(from) + 1, trace::place(to)) << hop;
    }
  }
  EXPECT_TRUE(hops_of_finding("of.another.kind").empty());
}

}  // namespace
}  // namespace tickpath::report
