// What an adapter has beyond the standard, and what it would give: memory on the device, time
// stamps of completions by its own clock, relaxed ordering of PCIe. Through the adapter and back,
// on this host.
//   device_paths [--device mlx5_0] [--device-port 1] [--iterations 5000] [--json] [--quick]
// Each operation goes to memory of this host and, where there is such, to memory on the device: a
// READ or an atomic of that needs no way through PCIe. With time stamps the time from posting is
// split where the adapter completed it; the rest is until this CPU saw that. Then how long a READ
// is out that nobody answers: adapters lengthen short timeouts as they like, and that time is what
// a lost packet costs, and a dead peer.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>

#include "common/base/error.hpp"
#include "common/rdma/verbs/features.hpp"
#include "tests/bench/report.hpp"
#include "tests/bench/uc_pair.hpp"

namespace tickpath::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSlotBytes = 64;
constexpr std::uint32_t kBulkBytes = 64 << 10;
constexpr unsigned kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                          IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct Operation {
  const char* name;
  ibv_wr_opcode opcode;
  std::uint32_t bytes;
};
constexpr Operation kOperations[] = {{"WRITE", IBV_WR_RDMA_WRITE, kSlotBytes},
                                     {"READ", IBV_WR_RDMA_READ, kSlotBytes},
                                     {"FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, 8}};

struct Row {
  std::string operation, memory;
  double total_us = 0;
  std::optional<double> adapter_us;  // of it, until the adapter had completed it
};

// Completions with the adapter's time where it gives one.
class Completions {
 public:
  Completions(ibv_context* context, const ibv_device_attr_ex& device) : context_(context) {
    if (device.completion_timestamp_mask != 0 && device.hca_core_clock != 0) {
      ibv_cq_init_attr_ex wanted{};
      wanted.cqe = 64;
      wanted.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
      stamping_ = ::ibv_create_cq_ex(context, &wanted);
      ticks_a_us_ = static_cast<double>(device.hca_core_clock) / 1e3;
      mask_ = device.completion_timestamp_mask;
    }
    queue_.reset(stamping_ != nullptr ? ::ibv_cq_ex_to_cq(stamping_)
                                      : ::ibv_create_cq(context, 64, nullptr, nullptr, 0));
    uc_require(queue_ != nullptr, "no completion queue");
  }
  ibv_cq* queue() const { return queue_.get(); }
  bool stamps() const { return stamping_ != nullptr; }

  // The adapter's clock now, in its ticks.
  std::uint64_t clock() const {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    uc_require(::ibv_query_rt_values_ex(context_, &values) == 0,
               "the adapter's clock cannot be read");
    // mlx5 gives the counter itself in tv_nsec (rdma-core, mlx5_query_rt_values()).
    return static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
  }
  double us_since(std::uint64_t begin, std::uint64_t end) const {
    return static_cast<double>((end - begin) & mask_) / ticks_a_us_;
  }

  // The next one; its time stamp, 0 without.
  std::uint64_t wait() {
    if (!stamps()) {
      ibv_wc done{};
      int got = 0;
      while ((got = ::ibv_poll_cq(queue_.get(), 1, &done)) == 0) continue;
      check(got < 0 ? IBV_WC_GENERAL_ERR : done.status);
      return 0;
    }
    ibv_poll_cq_attr none{};
    int status = 0;
    while ((status = ::ibv_start_poll(stamping_, &none)) == ENOENT) continue;
    uc_require(status == 0, "polling failed");
    const ibv_wc_status result = stamping_->status;
    const std::uint64_t stamp = ::ibv_wc_read_completion_ts(stamping_);
    ::ibv_end_poll(stamping_);
    check(result);
    return stamp;
  }

 private:
  static void check(ibv_wc_status status) {
    if (status != IBV_WC_SUCCESS)
      throw Error(std::string("a request failed: ") + ::ibv_wc_status_str(status));
  }
  ibv_context* context_;
  ibv_cq_ex* stamping_ = nullptr;
  double ticks_a_us_ = 1;
  std::uint64_t mask_ = 0;
  UcOwned<ibv_cq> queue_;
};

// Two reliable queue pairs of this process, each the other's peer.
class Loop {
 public:
  Loop(const UcPort& port, ibv_pd* domain, Completions& done) : done_(done) {
    for (auto& pair : pairs_) {
      ibv_qp_init_attr wanted{};
      wanted.send_cq = wanted.recv_cq = done.queue();
      wanted.qp_type = IBV_QPT_RC;
      wanted.cap = {16, 1, 1, 1, 0};
      pair.reset(::ibv_create_qp(domain, &wanted));
      uc_require(pair != nullptr, "no queue pair");
    }
    for (int i = 0; i < 2; ++i)
      uc_connect(port, pairs_[i].get(),
                 {IBV_QPT_RC, uc_address(port, pairs_[1 - i].get()), 14,
                  kAll & ~unsigned{IBV_ACCESS_LOCAL_WRITE}});
  }
  void post(const Operation& operation, const ibv_mr* local, std::uint64_t remote,
            std::uint32_t rkey) {
    ibv_sge part{reinterpret_cast<std::uintptr_t>(local->addr), operation.bytes, local->lkey};
    ibv_send_wr request{};
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = operation.opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    if (operation.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      request.wr.atomic.remote_addr = remote;
      request.wr.atomic.rkey = rkey;
      request.wr.atomic.compare_add = 1;
    } else {
      request.wr.rdma.remote_addr = remote;
      request.wr.rdma.rkey = rkey;
    }
    ibv_send_wr* bad = nullptr;
    errno = ::ibv_post_send(pairs_[0].get(), &request, &bad);
    uc_require(errno == 0, "a request cannot be posted");
  }
  Completions& done() { return done_; }

 private:
  Completions& done_;
  UcOwned<ibv_qp> pairs_[2];
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Row measure(Loop& loop, const Operation& operation, const ibv_mr* local, std::uint64_t remote,
            std::uint32_t rkey, std::uint64_t iterations) {
  std::vector<double> total, adapter;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::uint64_t clock = loop.done().stamps() ? loop.done().clock() : 0;
    const Clock::time_point begun = Clock::now();
    loop.post(operation, local, remote, rkey);
    const std::uint64_t stamp = loop.done().wait();
    total.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count());
    if (loop.done().stamps()) adapter.push_back(loop.done().us_since(clock, stamp));
  }
  Row row{operation.name, "host", median(total), std::nullopt};
  if (!adapter.empty()) row.adapter_us = median(adapter);
  return row;
}

// Gbit/s of READs into memory that is registered with these flags.
double read_rate(Loop& loop, ibv_pd* domain, std::vector<std::byte>& from, int flags,
                 std::uint64_t iterations) {
  std::vector<std::byte> to(kBulkBytes);
  UcOwned<ibv_mr> source(::ibv_reg_mr(domain, from.data(), kBulkBytes, kAll));
  UcOwned<ibv_mr> target(::ibv_reg_mr(domain, to.data(), kBulkBytes, flags));
  uc_require(source != nullptr && target != nullptr, "memory cannot be registered");
  constexpr Operation kBulk{"READ", IBV_WR_RDMA_READ, kBulkBytes};
  const auto remote = reinterpret_cast<std::uintptr_t>(from.data());
  constexpr std::uint64_t kAtOnce = 8;
  const Clock::time_point begun = Clock::now();
  for (std::uint64_t i = 0; i < iterations + kAtOnce; ++i) {
    if (i >= kAtOnce) (void)loop.done().wait();
    if (i < iterations) loop.post(kBulk, target.get(), remote, source->rkey);
  }
  const double ns = static_cast<double>((Clock::now() - begun).count());
  return static_cast<double>(iterations) * kBulkBytes * 8 / ns;
}

// A READ of a queue pair that is gone, until it is given up, in ms; 0: it was not, within the
// limit.
double measure_silence(const UcPort& port, ibv_pd* domain, const ibv_mr* local,
                       const ibv_mr* remote, std::uint8_t retries) {
  const UcOwned<ibv_cq> done(::ibv_create_cq(port.context, 4, nullptr, nullptr, 0));
  uc_require(done != nullptr, "no completion queue");
  const auto make = [&] {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = done.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {4, 1, 1, 1, 0};
    UcOwned<ibv_qp> pair(::ibv_create_qp(domain, &wanted));
    uc_require(pair != nullptr, "no queue pair");
    return pair;
  };
  const UcOwned<ibv_qp> pair = make();
  {
    const UcOwned<ibv_qp> peer = make();
    // As the verbs provider does by default: timeout 10, 4.19 ms a try.
    uc_connect(port, pair.get(), {IBV_QPT_RC, uc_address(port, peer.get()), 10, 0, retries});
  }
  ibv_sge part{reinterpret_cast<std::uintptr_t>(local->addr), 8, local->lkey};
  ibv_send_wr request{}, *bad = nullptr;
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(remote->addr);
  request.wr.rdma.rkey = remote->rkey;
  const Clock::time_point begun = Clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double, std::milli>(Clock::now() - begun);
  };
  uc_require(::ibv_post_send(pair.get(), &request, &bad) == 0, "a READ cannot be posted");
  constexpr std::chrono::seconds kLimit{20};
  ibv_wc completion{};
  while (::ibv_poll_cq(done.get(), 1, &completion) == 0)
    if (elapsed() > kLimit) return 0;
  return completion.status == IBV_WC_RETRY_EXC_ERR ? elapsed().count() : 0;
}

struct DeviceMemoryFree {
  void operator()(ibv_dm* memory) const { ::ibv_free_dm(memory); }
};

// To memory on the device; empty where it has none.
void measure_device_memory(ibv_context* context, ibv_pd* domain, Loop& loop, const ibv_mr* local,
                           const ibv_device_attr_ex& device, std::uint64_t iterations,
                           std::vector<Row>& rows) {
  if (device.max_dm_size == 0) return;
  ibv_alloc_dm_attr wanted{};
  wanted.length = 4096;
  wanted.log_align_req = 3;  // 8 bytes, for the atomics
  const std::unique_ptr<ibv_dm, DeviceMemoryFree> memory(::ibv_alloc_dm(context, &wanted));
  uc_require(memory != nullptr, "the adapter says that it has memory, and gives none");
  const UcOwned<ibv_mr> region(
      ::ibv_reg_dm_mr(domain, memory.get(), 0, 4096, kAll | IBV_ACCESS_ZERO_BASED));
  uc_require(region != nullptr, "its memory cannot be registered");
  for (const Operation& operation : kOperations) {
    rows.push_back(measure(loop, operation, local, 0, region->rkey, iterations));
    rows.back().memory = "device";
  }
}

void print_silence(const std::vector<double>& silence_ms, bool json) {
  std::printf(json ? ", \"silence_ms\": [" : "a READ that nobody answers is given up after");
  for (const double& ms : silence_ms)
    std::printf(json ? "%s%.2f" : "%s %.2f", &ms == silence_ms.data() ? "" : ",", ms);
  std::printf(json ? "]}\n" : " ms, by the number of tries\n");
}

void print(const std::vector<Row>& rows, const std::string& features, double strict, double relaxed,
           bool json) {
  std::printf(json ? "{\"features\": \"%s\", \"rows\": [" : "%s\n", features.c_str());
  for (const Row& row : rows) {
    const double adapter = row.adapter_us.value_or(-1);
    if (json)
      std::printf(
          "%s{\"operation\": \"%s\", \"memory\": \"%s\", \"total_us\": %.3f, \"adapter_us\": %.3f}",
          &row == rows.data() ? "" : ", ", row.operation.c_str(), row.memory.c_str(), row.total_us,
          adapter);
    else
      std::printf("%-10s to memory of the %-7s %9.2f us; until the adapter completed it %s\n",
                  row.operation.c_str(), row.memory.c_str(), row.total_us,
                  row.adapter_us ? (std::to_string(adapter) + " us").c_str()
                                 : "is not told: no time stamps");
  }
  std::printf(json ? "], \"read_gbit_s\": {\"strict\": %.3f, \"relaxed\": %.3f}"
                   : "READs of 64 KiB %.2f Gbit/s in order, %.2f with relaxed ordering asked for\n",
              strict, relaxed);
}

int run(int argc, char** argv) {
  const std::string name = text_option(argc, argv, "--device");
  bool json = false;
  for (int i = 1; i < argc; ++i) json = json || std::strcmp(argv[i], "--json") == 0;
  const std::uint64_t iterations = std::max<std::uint64_t>(
      8, option(argc, argv, "--iterations", is_quick(argc, argv) ? 50 : 5000));
  const UcOwned<ibv_context> context = uc_open(name);
  if (context == nullptr) {
    std::puts("skipped: no RDMA device");
    return 0;
  }
  if (!json) print_environment("paths of this device alone");
  ibv_device_attr_ex device{};
  uc_require(::ibv_query_device_ex(context.get(), nullptr, &device) == 0,
             "the device does not answer");
  const UcOwned<ibv_pd> domain(::ibv_alloc_pd(context.get()));
  uc_require(domain != nullptr, "no protection domain");
  Completions done(context.get(), device);
  std::vector<std::byte> source(kBulkBytes), remote(kBulkBytes);
  const UcOwned<ibv_mr> local(
      ::ibv_reg_mr(domain.get(), source.data(), kBulkBytes, int{IBV_ACCESS_LOCAL_WRITE}));
  const UcOwned<ibv_mr> target(::ibv_reg_mr(domain.get(), remote.data(), kBulkBytes, kAll));
  uc_require(local != nullptr && target != nullptr, "memory cannot be registered");
  const UcPort port{context.get(), uc_port_number(argc, argv)};
  Loop loop(port, domain.get(), done);
  std::vector<Row> rows;
  // Aligned for the atomic: a vector of 64 KiB is.
  for (const Operation& operation : kOperations)
    rows.push_back(measure(loop, operation, local.get(),
                           reinterpret_cast<std::uintptr_t>(remote.data()), target->rkey,
                           iterations));
  measure_device_memory(context.get(), domain.get(), loop, local.get(), device, iterations, rows);
  const std::uint64_t reads = std::max<std::uint64_t>(8, iterations / 10);
  const double strict = read_rate(loop, domain.get(), remote, IBV_ACCESS_LOCAL_WRITE, reads);
  const double relaxed =
      read_rate(loop, domain.get(), remote,
                int{IBV_ACCESS_LOCAL_WRITE} | int{IBV_ACCESS_RELAXED_ORDERING}, reads);
  print(rows, rdma::detail::describe_features(device), strict, relaxed, json);
  std::vector<double> silence_ms;
  for (std::uint8_t retries = 0; retries < 8; ++retries)
    silence_ms.push_back(measure_silence(port, domain.get(), local.get(), target.get(), retries));
  print_silence(silence_ms, json);
  return 0;
}

}  // namespace
}  // namespace tickpath::bench

int main(int argc, char** argv) {
  return tickpath::bench::run_main(&tickpath::bench::run, argc, argv);
}
