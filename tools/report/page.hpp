// One HTML file from its parts: nothing in it is loaded from anywhere else.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tickpath::report {

// What a page says. Texts are plain: the page escapes them.
struct PageContent {
  std::string title;
  std::vector<std::pair<std::string, std::string>> head;     // what the run was: name, value
  std::vector<std::pair<std::string, std::string>> figures;  // the few large ones: name, value
  std::string measured;                                      // from where to where, one sentence
  std::string data;      // JSON, as tools/report/page/main.js reads it
  std::string pictures;  // HTML: plain SVG for a page without charts
  std::string text;      // the tables once more, as text
};

// The charts' libraries, as their Debian packages install them.
struct ChartLibraries {
  std::string scripts;  // empty: one of them is missing
  std::string style;
  std::vector<std::string> missing;  // packages to install
};
// folder: one that has d3.min.js, dygraph.min.js and dygraph.min.css; empty: where the packages
// node-d3 and libjs-dygraphs of Debian 12 and 13 put them. Throws SystemError for one that is there
// and cannot be read.
ChartLibraries read_libraries(const std::string& folder);

// Its Content-Security-Policy runs these scripts alone, by their digests, and loads nothing.
// Without libraries it says what to install and shows the pictures.
std::string page_html(const PageContent& content, const ChartLibraries& libraries);

// JSON as it may stand in a script element: no markup begins or ends in it.
std::string script_safe(std::string_view json);

}  // namespace tickpath::report
