#include "sim/latency/latency_config.hpp"

namespace tickpath::sim {
namespace {

constexpr std::int64_t kLongestNs = 10'000'000'000;

config::Schema<LatencyOptions> model_schema() {
  config::Schema<LatencyOptions> schema;
  schema.choice("model", &LatencyOptions::kind,
                {{"none", LatencyKind::kNone},
                 {"fixed", LatencyKind::kFixed},
                 {"uniform", LatencyKind::kUniform},
                 {"normal", LatencyKind::kNormal},
                 {"lognormal", LatencyKind::kLognormal},
                 {"empirical", LatencyKind::kEmpirical},
                 {"trace", LatencyKind::kTrace}},
                "How long it takes; empirical draws from the latencies of a file, trace replays "
                "them in their order. The order of things is always kept");
  schema.duration(
      "delay", &LatencyOptions::delay_ns, {0, kLongestNs},
      "fixed: the latency; uniform: its least; normal: its mean; lognormal: its median");
  schema.duration("spread", &LatencyOptions::spread_ns, {0, kLongestNs},
                  "uniform: from the least to the most; normal: the standard deviation");
  schema.real("sigma", &LatencyOptions::sigma, {0, 5}, "",
              "lognormal: standard deviation of the logarithm");
  schema.duration("limit", &LatencyOptions::limit_ns, {0, kLongestNs}, "No latency is longer");
  schema.path("file", &LatencyOptions::file,
              "empirical, trace: nanoseconds, one number a line; plain, .gz or .zst");
  schema.check([](const LatencyOptions& options, config::Problems& problems) {
    const bool needed =
        options.kind == LatencyKind::kEmpirical || options.kind == LatencyKind::kTrace;
    if (needed && options.file.empty()) problems.add("file", "the model needs one");
  });
  return schema;
}

}  // namespace

config::Schema<LatencyConfig> latency_schema() {
  config::Schema<LatencyConfig> schema;
  schema.include("market_data", &LatencyConfig::market_data, model_schema());
  schema.include("order_entry", &LatencyConfig::order_entry, model_schema());
  schema.include("reports", &LatencyConfig::reports, model_schema());
  schema.integer("seed", &LatencyConfig::seed, {0, std::int64_t{1} << 62}, "",
                 "Decides every draw of these models");
  return schema;
}

config::Schema<RateLimit> rate_schema() {
  config::Schema<RateLimit> schema;
  schema.integer("rate_limit", &RateLimit::messages, {0, 1'000'000}, "messages",
                 "Order messages that a session may send in rate_interval; 0: any number");
  schema.duration("rate_interval", &RateLimit::interval_ns, {1'000'000, 60'000'000'000},
                  "Any stretch of time so long counts");
  schema.choice("rate_rule", &RateLimit::rule,
                {{"reject", RateRule::kReject}, {"delay", RateRule::kDelay}},
                "What is beyond the limit: refuse it (Execution Report, Order Cancel Reject), or "
                "let it wait until the interval has room");
  return schema;
}

SessionDelayOptions session_delay_options(const LatencyConfig& latency, const RateLimit& rate,
                                          std::size_t session) {
  return {latency.order_entry, latency.reports, rate, latency.seed + 1 + 2 * session};
}

}  // namespace tickpath::sim
