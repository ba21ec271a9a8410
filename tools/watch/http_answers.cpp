#include "tools/watch/http_answers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "tools/watch/detail/page.hpp"
#include "tools/watch/metrics.hpp"

namespace tickpath::watch {
namespace {

using control::Json;

constexpr std::string_view kCookie = "tickpath_token";

// In a time that does not depend on where they differ.
bool same_secret(std::string_view given, std::string_view wanted) {
  unsigned char differs = given.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differs |=
        static_cast<unsigned char>(given[i] ^ wanted[i % std::max<std::size_t>(wanted.size(), 1)]);
  return differs == 0 && !wanted.empty();
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

// The value of a parameter of the query; empty: there is none. Nothing is decoded: tokens are
// letters and digits.
std::string_view parameter(std::string_view target, std::string_view name) {
  std::size_t at = target.find('?');
  while (at != target.npos) {
    const std::string_view rest = target.substr(at + 1);
    const std::string_view pair = rest.substr(0, rest.find('&'));
    if (const std::size_t equals = pair.find('=');
        equals != pair.npos && pair.substr(0, equals) == name)
      return pair.substr(equals + 1);
    at = target.find('&', at + 1);
  }
  return {};
}

// RFC 6265, 4.2.1: "a=b; c=d".
std::string_view cookie_named(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::string_view pair = cookies.substr(0, cookies.find(';'));
    if (const std::size_t equals = pair.find('=');
        equals != pair.npos && pair.substr(0, equals) == name)
      return pair.substr(equals + 1);
    cookies.remove_prefix(std::min(cookies.size(), pair.size() + 1));
    while (!cookies.empty() && cookies.front() == ' ') cookies.remove_prefix(1);
  }
  return {};
}

std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(authorization[i])) != kScheme[i]) return {};
  return authorization.substr(kScheme.size());
}

// A page of another site whose name was made to mean this machine (DNS rebinding) sends its own
// name here.
bool is_own_name(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) host = host.substr(0, colon);
  // 127.0.0.0/8 as digits: a name such as 127.example.com is another site's.
  const bool digits = host.find_first_not_of("0123456789.") == host.npos;
  return host == "localhost" || host == "[::1]" || (digits && host.starts_with("127."));
}

HttpAnswer plain(unsigned status, std::string text) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::move(text) + "\n";
  return answer;
}

HttpAnswer with_field(HttpAnswer answer, std::string name, std::string value) {
  answer.fields.emplace_back(std::move(name), std::move(value));
  return answer;
}

HttpAnswer json_answer(unsigned status, const Json& json) {
  HttpAnswer answer;
  answer.status = status;
  answer.type = "application/json";
  answer.body = control::text_of(json) + "\n";
  return answer;
}

// Empty: the request may go on.
std::optional<HttpAnswer> refusal(const HttpRequest& request, const HttpRules& rules) {
  if (rules.token.empty()) {
    if (is_own_name(request.host)) return std::nullopt;
    return plain(403, "without a token the page is asked for by 127.0.0.1 or localhost alone");
  }
  const std::string& wanted = rules.token.reveal();
  if (same_secret(bearer_of(request.authorization), wanted) ||
      same_secret(cookie_named(request.cookie, kCookie), wanted))
    return std::nullopt;
  const std::string_view given = parameter(request.target, "token");
  if (!same_secret(given, wanted))
    return with_field(plain(401,
                            "the token is missing or another one: /?token=TOKEN, or "
                            "\"Authorization: Bearer TOKEN\""),
                      "WWW-Authenticate", "Bearer");
  // Kept by the browser, and out of its address line.
  HttpAnswer answer = with_field(plain(303, "see /"), "Location", "/");
  return with_field(std::move(answer), "Set-Cookie",
                    std::string(kCookie) + "=" + wanted + "; Path=/; HttpOnly; SameSite=Strict");
}

// {"strategy": 2}, or {"strategy": "all"}.
HttpAnswer kill_answer(const HttpRequest& request, const HttpRules& rules, std::string_view what) {
  if (!rules.control)
    return plain(403, "this page only shows; `tickpath serve --control` takes commands");
  if (request.method != "POST") return with_field(plain(405, "only POST"), "Allow", "POST");
  // A form of another site cannot send this type without being asked for (Fetch, "CORS protocol").
  if (!request.content_type.starts_with("application/json"))
    return plain(415, "Content-Type: application/json");
  const Json body = Json::parse(request.body, nullptr, false);
  const Json* const whom =
      body.is_object() && body.contains("strategy") ? &body.at("strategy") : nullptr;
  HttpAnswer answer;
  answer.command = {std::string(what), "--run-dir", rules.run_dir};
  if (whom != nullptr && whom->is_number_unsigned() && whom->get<std::uint64_t>() <= 255)
    answer.command.insert(answer.command.end(),
                          {"--strategy", std::to_string(whom->get<std::uint64_t>())});
  else if (whom == nullptr || *whom != "all")
    return plain(400, "\"strategy\" is a number from 0 to 255, or \"all\"");
  return answer;
}

struct PageFile {
  std::string_view path;
  std::string_view type;
  const std::string_view& text;
};

const PageFile* page_file(std::string_view path) {
  static const std::array kFiles{
      PageFile{"/", "text/html; charset=utf-8", detail::kPageHtml},
      PageFile{"/page.css", "text/css; charset=utf-8", detail::kPageCss},
      PageFile{"/page.js", "text/javascript; charset=utf-8", detail::kPageJs}};
  const auto found = std::ranges::find(kFiles, path, &PageFile::path);
  return found == kFiles.end() ? nullptr : &*found;
}

HttpAnswer read_answer(const HttpRequest& request, const HttpRules& rules,
                       const Snapshot* snapshot) {
  const std::string_view path = path_of(request.target);
  HttpAnswer answer;
  if (const PageFile* const file = page_file(path); file != nullptr) {
    answer.type = file->type;
    answer.body = file->text;
    return answer;
  }
  if (path == "/about.json") return json_answer(200, {{"control", rules.control}});
  const bool known = path == "/events" || path == "/view.json" || path == "/metrics";
  if (!known) return plain(404, "there are /, /view.json, /events and /metrics");
  if (path == "/events") {
    answer.type = "text/event-stream";
    answer.events = true;
    return answer;
  }
  if (snapshot == nullptr) return plain(503, "the first look at the pipeline is not over");
  if (path == "/view.json") return json_answer(200, snapshot->view);
  answer.type = kMetricsType;
  answer.body = metrics_text(*snapshot, parameter(request.target, "all") == "1");
  return answer;
}

}  // namespace

HttpAnswer answer_to(const HttpRequest& request, const HttpRules& rules, const Snapshot* snapshot) {
  if (auto refused = refusal(request, rules)) return *std::move(refused);
  const std::string_view path = path_of(request.target);
  if (path == "/kill" || path == "/unkill") return kill_answer(request, rules, path.substr(1));
  if (request.method != "GET" && request.method != "HEAD")
    return with_field(plain(405, "only GET and HEAD"), "Allow", "GET, HEAD");
  return read_answer(request, rules, snapshot);
}

std::string event_of(const Snapshot& snapshot) {
  return "event: view\ndata: " + control::text_of(snapshot.view) + "\n\n";
}

const std::vector<std::pair<std::string_view, std::string_view>>& common_fields() {
  static const std::vector<std::pair<std::string_view, std::string_view>> kFields{
      {"Cache-Control", "no-store"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
       "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Content-Type-Options", "nosniff"}};
  return kFields;
}

}  // namespace tickpath::watch
