#include "tools/report/page.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <openssl/evp.h>

#include "common/base/check.hpp"
#include "common/base/error.hpp"
#include "common/trace/report.hpp"
#include "tools/report/assets.hpp"

namespace tickpath::report {
namespace {

using trace::html_escaped;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError("cannot read " + path, errno);
  return {std::istreambuf_iterator<char>(file), {}};
}

// CSP Level 3, 2.3.1: 'sha256-' and the digest in base64.
std::string digest_source(const std::string& script) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (EVP_Digest(script.data(), script.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw Error("OpenSSL has no SHA-256");
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text;
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(size));
  return "'sha256-" + std::string(text.begin(), text.begin() + length) + "'";
}

// In a script, "</script" can stand in a string alone, where this means the same.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}
std::string inline_script(std::string text) {
  return replaced(replaced(std::move(text), "</script", "<\\/script"), "<!--", "<\\!--");
}

std::string policy(const std::vector<std::string>& scripts) {
  std::string sources;
  for (const std::string& script : scripts) sources += " " + digest_source(script);
  return "default-src 'none'; script-src" + sources +
         "; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
}

std::string pairs_html(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string html;
  for (const auto& [name, value] : pairs)
    html += "<div><dt>" + html_escaped(name) + "</dt><dd>" + html_escaped(value) + "</dd></div>\n";
  return html;
}

std::string missing_html(const ChartLibraries& libraries) {
  if (libraries.missing.empty()) return {};
  std::string packages;
  for (const std::string& each : libraries.missing) packages += " " + each;
  return "<p class=\"notice\" role=\"note\">Charts need the packages <code>" +
         html_escaped(packages.substr(1)) +
         "</code> when the page is made. Plain pictures stand in their place. To have the charts: "
         "<code>apt-get install" +
         html_escaped(packages) + "</code>, then <code>tickpath report</code> again.</p>\n";
}

// Each {{name}} of the template gives way to its part; parts are not looked through.
std::string filled(std::string_view text, const std::map<std::string, std::string>& parts) {
  std::string page;
  for (std::size_t at = 0;;) {
    const std::size_t open = text.find("{{", at);
    page += text.substr(at, open - at);
    if (open == std::string_view::npos) return page;
    const std::size_t close = text.find("}}", open);
    TICKPATH_CHECK(close != std::string_view::npos, "a part of the template has no end");
    page += parts.at(std::string(text.substr(open + 2, close - open - 2)));
    at = close + 2;
  }
}

}  // namespace

std::string script_safe(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char each : json) {
    if (each == '<')
      safe += "\\u003c";
    else
      safe += each;
  }
  return safe;
}

ChartLibraries read_libraries(const std::string& folder) {
  struct File {
    const char* package;
    const char* place;
    const char* name;
    bool style;
  };
  constexpr std::array kFiles{
      File{"node-d3", "/usr/share/nodejs/d3/dist", "d3.min.js", false},
      File{"libjs-dygraphs", "/usr/share/javascript/dygraphs", "dygraph.min.js", false},
      File{"libjs-dygraphs", "/usr/share/javascript/dygraphs", "dygraph.min.css", true}};
  ChartLibraries libraries;
  for (const File& file : kFiles) {
    const std::string path = (folder.empty() ? file.place : folder) + "/" + file.name;
    if (!std::filesystem::exists(path)) {
      if (libraries.missing.empty() || libraries.missing.back() != file.package)
        libraries.missing.emplace_back(file.package);
      continue;
    }
    (file.style ? libraries.style : libraries.scripts) += read_file(path) + "\n";
  }
  if (!libraries.missing.empty()) libraries.scripts.clear();
  return libraries;
}

std::string page_html(const PageContent& content, const ChartLibraries& libraries) {
  const std::string charts = inline_script(libraries.scripts);
  const std::string script = inline_script(std::string(kPageScript));
  return filled(kPageTemplate, {{"policy", html_escaped(policy({charts, script}))},
                                {"title", html_escaped(content.title)},
                                {"library_style", libraries.style},
                                {"style", std::string(kPageStyle)},
                                {"head", pairs_html(content.head)},
                                {"figures", pairs_html(content.figures)},
                                {"measured", html_escaped(content.measured)},
                                {"missing", missing_html(libraries)},
                                {"pictures", content.pictures},
                                {"text", html_escaped(content.text)},
                                {"data", script_safe(content.data)},
                                {"libraries", charts},
                                {"script", script}});
}

}  // namespace tickpath::report
