#include "common/control/common_config.hpp"

#include <algorithm>
#include <string_view>

#include "common/base/names.hpp"
#include "common/base/trusted_file.hpp"

namespace tickpath::control {
namespace {

config::Schema<rdma::VerbsOptions> verbs_schema() {
  using V = rdma::VerbsOptions;
  config::Schema<V> schema;
  schema.duration("peer_timeout", &V::peer_timeout_ns, {1'000'000, 60'000'000'000},
                  "verbs: a connection whose peer does not answer fails after about this; timeout "
                  "and retry_cnt follow from it. A lost packet is repeated eight times in it, and "
                  "heartbeat.dead_after should hold several of these tries");
  schema.integer("timeout", &V::timeout, {0, 31}, "",
                 "verbs: one try lasts 4.096 us * 2^timeout; 0: from peer_timeout");
  schema.integer("retry_cnt", &V::retry_cnt, {0, 7}, "tries",
                 "verbs: tries after the first one; 0: from peer_timeout");
  schema.integer("rnr_retry", &V::rnr_retry, {-1, 7}, "tries",
                 "verbs: retries of a message that meets no receive, 7 is for ever; -1: what each "
                 "connection needs");
  schema.duration("min_rnr_timer", &V::min_rnr_timer_ns, {0, 655'360'000},
                  "verbs: pause before such a retry, rounded up; 0: what each connection needs");
  schema.integer("max_rd_atomic", &V::max_rd_atomic, {1, 255}, "requests",
                 "verbs: READs and atomics under way at once, at most what the device can");
  schema.integer("traffic_class", &V::traffic_class, {0, 255}, "",
                 "verbs: DSCP * 4 of the packets on RoCE, also of datagrams to a group; 0: the "
                 "system's default");
  schema.integer("multicast_hops", &V::multicast_hops, {1, 255}, "",
                 "verbs: hops of datagrams to a group on RoCE; more than 1 where routers pass the "
                 "group on");
  schema.integer("inline_bytes", &V::inline_bytes, {-1, 4096}, "bytes",
                 "verbs: inline size asked of the device; -1: what each connection needs");
  schema.integer("send_depth", &V::send_depth, {0, 32'768}, "requests",
                 "verbs: send queues are at least so deep; 0: what each connection needs");
  schema.integer("receive_depth", &V::receive_depth, {0, 32'768}, "requests",
                 "verbs: receive queues are at least so deep; 0: what each connection needs");
  schema.flag("relaxed_ordering", &V::relaxed_ordering,
              "verbs: PCIe may reorder the writes of messages and of answers to READs; never those "
              "into memory that peers WRITE (docs/VERBS.md)");
  return schema;
}

// What [security] says of connection set-up; the role is the program's own, not a matter of taste.
void add_security(config::Schema<CommonConfig>& schema) {
  using C = CommonConfig;
  schema.choice(
      "security.mode", [](C& c) -> net::SecurityMode& { return c.fabric.security.mode; },
      {{"loopback", net::SecurityMode::kLoopback},
       {"none", net::SecurityMode::kNone},
       {"psk", net::SecurityMode::kPsk},
       {"tls", net::SecurityMode::kTls}},
      "verbs: how programs prove their role before they connect: certificates (tls), pre-shared "
      "keys (psk), not at all but on this host only (loopback), or not at all (none)");
  schema.path(
      "security.keys", [](C& c) -> std::string& { return c.fabric.security.keys; },
      "Directory of the keys that `tickpath keys` made; needed for tls and psk");
  schema.check([](const C& c, config::Problems& problems) {
    if (!c.name.empty() && !is_file_name_part(c.name))
      problems.add("name", "has other characters than letters, digits, _ . -, and it names files");
    const net::SecurityOptions& security = c.fabric.security;
    const bool proves =
        security.mode == net::SecurityMode::kPsk || security.mode == net::SecurityMode::kTls;
    if (proves && security.keys.empty())
      problems.add("security.mode", "needs security.keys, a directory made by `tickpath keys`");
  });
}

// A thread that sleeps looks like one that hangs: its turns stand still. Half: it may be woken
// late.
void add_park_rule(config::Schema<CommonConfig>& schema) {
  schema.check([](const CommonConfig& c, config::Problems& problems) {
    if (c.wait != WaitMode::kPark || 2 * c.park_timeout_ns <= c.hang_after_ns) return;
    problems.add("datapath.park_timeout",
                 "may be at most half of datapath.hang_after: a healthy thread that sleeps for "
                 "longer would count as hanging, and this program as dead");
  });
}

void add_provider_rule(config::Schema<CommonConfig>& schema) {
  schema.check([](const CommonConfig& c, config::Problems& problems) {
    const std::vector<std::string_view> names = rdma::provider_names();
    if (std::ranges::find(names, c.fabric.provider) != names.end()) return;
    std::string allowed;
    for (const std::string_view name : names) allowed += " \"" + std::string(name) + '"';
    problems.add("fabric.provider",
                 "found \"" + c.fabric.provider + "\"; allowed is one of:" + allowed);
  });
}

}  // namespace

config::Schema<CommonConfig> common_schema() {
  using C = CommonConfig;
  config::Schema<C> schema;
  schema.text("name", &C::name, "Name of this instance; empty: the program's own");
  schema.path("run_dir", &C::run_dir,
              "Where programs that belong together meet; {run_dir} and {name} stand for these two "
              "in every text and path below");
  schema.integer(
      "venue_number", &C::venue, {0, 255}, "",
      "Where strategies trade on several venues: the number of this program's, as in the "
      "strategy's [[venue]]; 0: there is one venue, or this program is of all");
  schema.text("process", &C::process,
              "For `tickpath up`: instances of mdh, or of oeg, with the same word here share one "
              "process and its datapath thread; empty: this one has its own");
  schema.choice("log.level", &C::log_level,
                {{"debug", log::Level::kDebug},
                 {"info", log::Level::kInfo},
                 {"warning", log::Level::kWarning},
                 {"error", log::Level::kError}},
                "What goes to {run_dir}/{name}.log");
  schema
      .integer("datapath.cpu", &C::cpu, {kCpuUnpinned, 4095}, "",
               "CPU that the datapath thread is bound to; -1: any that it is allowed; auto: a core "
               "that no polling thread of this host is bound to, or any where there is none")
      .or_named("auto", kCpuAuto);
  schema.choice("datapath.wait", &C::wait,
                {{"spin", WaitMode::kSpin},
                 {"yield", WaitMode::kYield},
                 {"park", WaitMode::kPark},
                 {"auto", WaitMode::kAuto}},
                "How the datapath thread waits; auto spins only while every polling thread of this "
                "host has a core of its own, and yields else");
  schema.duration("datapath.park_timeout", &C::park_timeout_ns, {100'000, 1'000'000'000},
                  "wait = park: the thread looks around at the latest after this; at most half of "
                  "datapath.hang_after");
  schema.duration("datapath.stop_timeout", &C::stop_timeout_ns, {0, 600'000'000'000},
                  "Time to settle what is open when asked to stop");
  schema.duration("datapath.hang_after", &C::hang_after_ns, {10'000'000, 60'000'000'000},
                  "Longest turn, waiting for a CPU not counted; after it the heartbeat stops and "
                  "peers count this program as dead");
  schema.duration("heartbeat.period", &C::heartbeat_period_ns, {100'000, 1'000'000'000},
                  "Between two beats of this program's own heart, which its peers watch");
  schema.flag("trace.enabled", &C::trace_enabled, "Stamp every hop");
  schema.path("trace.file", &C::trace_file, "Where the stamps go");
  schema.integer("trace.capacity", &C::trace_capacity, {1024, std::int64_t{1} << 32}, "records",
                 "Stamps kept, the newest ones, at 16 bytes each");
  schema.text(
      "fabric.provider", [](C& c) -> std::string& { return c.fabric.provider; },
      "RDMA provider: " + rdma::provider_list());
  schema.text(
      "fabric.device", [](C& c) -> std::string& { return c.fabric.device; },
      "RDMA device, by name or by an address of its interface; empty: the first usable. ofi: a "
      "provider of "
      "libfabric, with the address for data connections if wanted (tcp, tcp:10.0.0.1)");
  schema.include(
      "fabric", [](C& c) -> rdma::VerbsOptions& { return c.fabric.verbs; }, verbs_schema());
  schema.text("fabric.endpoint", &C::fabric_endpoint,
              "Where this program listens: a socket path (shm) or host:port (verbs, ofi)");
  add_park_rule(schema);
  add_provider_rule(schema);
  add_security(schema);
  return schema;
}

std::string_view to_string(WaitMode mode) noexcept {
  using enum WaitMode;
  return name_in(mode, {{kSpin, "spin"}, {kYield, "yield"}, {kPark, "park"}, {kAuto, "auto"}});
}

}  // namespace tickpath::control
