// The HTTP server of `tickpath serve` (RFC 9110, RFC 9112; by Boost.Beast). One thread; the
// pipeline is looked at by another one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/net/endpoint.hpp"
#include "tools/watch/http_answers.hpp"

namespace tickpath::watch {

struct WebServerOptions {
  net::Endpoint listen;
  HttpRules rules;
  // Without a token: users of this host who may connect; empty: our own user (net::PeerRule).
  std::vector<std::string> users;
  double interval_s = 1;
  std::size_t connections_max = 64;  // more are answered with 503
  double patience_s = 10;            // for a whole request, and for a client to take an answer
};

// Until SIGINT, SIGTERM or SIGHUP. on_ready: called once, when it listens. Throws Error: nobody may
// listen there, the port is in use, there is no such run directory, such a user.
void serve(const WebServerOptions& options, const std::function<void()>& on_ready);

}  // namespace tickpath::watch
