#include "common/control/common_config.hpp"

namespace tickpath::control {

config::Schema<CommonConfig> common_schema() {
  using C = CommonConfig;
  config::Schema<C> schema;
  schema.text("name", &C::name, "Name of this instance; empty: the program's own");
  schema.path("run_dir", &C::run_dir,
              "Where programs that belong together meet; {run_dir} and {name} stand for these two "
              "in every text and path below");
  schema.choice("log.level", &C::log_level,
                {{"debug", log::Level::kDebug},
                 {"info", log::Level::kInfo},
                 {"warning", log::Level::kWarning},
                 {"error", log::Level::kError}},
                "What goes to {run_dir}/{name}.log");
  schema.integer("datapath.cpu", &C::cpu, {kCpuUnpinned, 4095}, "",
                 "CPU that the datapath thread is bound to; -1: any that it is allowed");
  schema.choice("datapath.wait", &C::wait,
                {{"spin", WaitMode::kSpin},
                 {"yield", WaitMode::kYield},
                 {"park", WaitMode::kPark},
                 {"auto", WaitMode::kAuto}},
                "How the datapath thread waits; auto spins only while every polling thread of this "
                "host has a core of its own, and yields else");
  schema.duration("datapath.park_timeout", &C::park_timeout_ns, {100'000, 1'000'000'000},
                  "wait = park: the thread looks around at the latest after this");
  schema.duration("datapath.stop_timeout", &C::stop_timeout_ns, {0, 600'000'000'000},
                  "Time to settle what is open when asked to stop");
  schema.flag("trace.enabled", &C::trace_enabled, "Stamp every hop");
  schema.path("trace.file", &C::trace_file, "Where the stamps go");
  schema.integer("trace.capacity", &C::trace_capacity, {1024, std::int64_t{1} << 32}, "records",
                 "Stamps kept, the newest ones, at 16 bytes each");
  schema.text("fabric.provider", &C::fabric_provider, "RDMA provider: shm, verbs, ofi");
  schema.text("fabric.device", &C::fabric_device, "RDMA device; empty: the first usable");
  schema.text("fabric.endpoint", &C::fabric_endpoint,
              "Where this program listens: a socket path (shm) or host:port (verbs)");
  return schema;
}

std::string_view to_string(WaitMode mode) noexcept {
  switch (mode) {
    case WaitMode::kSpin:
      return "spin";
    case WaitMode::kYield:
      return "yield";
    case WaitMode::kPark:
      return "park";
    case WaitMode::kAuto:
      return "auto";
  }
  return "?";
}

}  // namespace tickpath::control
