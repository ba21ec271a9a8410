// What `tickpath serve` answers to a request: no sockets here. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/secret.hpp"
#include "tools/watch/lookout.hpp"

namespace tickpath::watch {

// A request as far as an answer depends on it; header fields that are absent are empty.
struct HttpRequest {
  std::string_view method;
  std::string_view target;  // "/metrics?all=1"
  std::string_view host;
  std::string_view authorization;
  std::string_view cookie;
  std::string_view content_type;
  std::string_view body;
};

struct HttpAnswer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields;  // further header fields
  bool events = false;               // goes on: a server-sent event each look
  std::vector<std::string> command;  // arguments of `tickpath`, whose text is the answer
};

struct HttpRules {
  // Empty: whoever is let in may read. Else a request must bring it: as a bearer token (RFC 6750,
  // 2.1), as the cookie that the page sets, or once as "?token=".
  Secret token;
  // Whether POST /kill and /unkill are taken.
  bool control = false;
  std::string run_dir;
};

// snapshot: nullptr before the first look.
HttpAnswer answer_to(const HttpRequest& request, const HttpRules& rules, const Snapshot* snapshot);

// "event: view" with the view as JSON on one line (HTML, "Server-sent events", event stream).
std::string event_of(const Snapshot& snapshot);

// Fields of every answer: nothing of the page is kept, framed, or asked for elsewhere.
const std::vector<std::pair<std::string_view, std::string_view>>& common_fields();

}  // namespace tickpath::watch
