// SEND/RECV of 64 bytes over the ofi provider beside a bare libfabric ping-pong on the same core
// provider: two processes on two CPUs, both polling, one sample a message (half a round trip), in
// turns within each round.
//   ofi_lat [--core tcp|shm] [--rounds 10] [--iterations 20000] [--quick]
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/rdma/rdma.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace tickpath;

constexpr std::size_t kBytes = 64;
constexpr std::uint32_t kReceives = 64;
constexpr std::uint64_t kWarmup = 1'000;

struct Plan {
  std::string core = "tcp";
  std::uint64_t rounds = 10;
  std::uint64_t iterations = 20'000;
};

// Between the two processes: addresses, and "now this one".
class Line {
 public:
  Line() { TICKPATH_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0, "socketpair"); }
  void take(int end) { mine_ = ends_[end]; }
  void send(const void* bytes, std::size_t size) {
    TICKPATH_CHECK(::write(mine_, bytes, size) == static_cast<ssize_t>(size), "write");
  }
  void receive(void* bytes, std::size_t size) {
    TICKPATH_CHECK(::recv(mine_, bytes, size, MSG_WAITALL) == static_cast<ssize_t>(size), "recv");
  }

 private:
  int ends_[2];
  int mine_ = -1;
};

void require(long result, const char* what) {
  if (result >= 0) return;
  std::fprintf(stderr, "ofi_lat: %s: %s\n", what, ::fi_strerror(static_cast<int>(-result)));
  std::exit(1);
}

// ------------------------------------------------------------------------------- bare libfabric

// A connected endpoint (tcp), or one without (shm), as a careful user writes it: FI_THREAD_DOMAIN,
// one thread, inject, receives posted ahead.
class Bare {
 public:
  Bare(const std::string& core, Line& line, bool first) : connected_(core == "tcp") {
    open(core);
    if (connected_)
      connect(line, first);
    else
      meet(line);
    for (std::uint32_t i = 0; i < kReceives; ++i) post(i);
    char ready = 1;
    line.send(&ready, 1);
    line.receive(&ready, 1);
  }
  ~Bare() {
    ::fi_close(&endpoint_->fid);
    ::fi_close(&queue_->fid);
    if (addresses_ != nullptr) ::fi_close(&addresses_->fid);
    if (passive_ != nullptr) ::fi_close(&passive_->fid);
    if (events_ != nullptr) ::fi_close(&events_->fid);
    ::fi_close(&domain_->fid);
    ::fi_close(&fabric_->fid);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void send() {
    for (;;) {
      const long result = ::fi_inject(endpoint_, message_, kBytes, peer_);
      if (result == 0) return;
      TICKPATH_CHECK(result == -FI_EAGAIN, "fi_inject");
      (void)look();
    }
  }
  void await() {
    while (!look()) {
    }
  }

 private:
  void open(const std::string& core) {
    fi_info* hints = ::fi_allocinfo();
    hints->caps = FI_MSG;
    hints->ep_attr->type = connected_ ? FI_EP_MSG : FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = ::strdup(core.c_str());
    require(::fi_getinfo(FI_VERSION(1, 17), connected_ ? "127.0.0.1" : nullptr, nullptr,
                         connected_ ? FI_SOURCE : 0, hints, &info_),
            "fi_getinfo");
    ::fi_freeinfo(hints);
    require(::fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
    require(::fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
    fi_cq_attr attributes{};
    attributes.size = 1024;
    attributes.format = FI_CQ_FORMAT_MSG;
    require(::fi_cq_open(domain_, &attributes, &queue_, nullptr), "fi_cq_open");
    if (!connected_) return;
    fi_eq_attr events{};
    events.wait_obj = FI_WAIT_NONE;
    require(::fi_eq_open(fabric_, &events, &events_, nullptr), "fi_eq_open");
  }

  void make_endpoint(fi_info* info) {
    require(::fi_endpoint(domain_, info, &endpoint_, nullptr), "fi_endpoint");
    require(::fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION),
            "fi_ep_bind");
    require(::fi_ep_bind(endpoint_, &queue_->fid, FI_RECV), "fi_ep_bind");
    if (connected_) require(::fi_ep_bind(endpoint_, &events_->fid, 0), "fi_ep_bind");
    if (addresses_ != nullptr) require(::fi_ep_bind(endpoint_, &addresses_->fid, 0), "fi_ep_bind");
    require(::fi_enable(endpoint_), "fi_enable");
  }

  fi_eq_cm_entry await_event(std::uint32_t wanted) {
    for (;;) {
      fi_eq_cm_entry entry{};
      std::uint32_t event = 0;
      const ssize_t got = ::fi_eq_read(events_, &event, &entry, sizeof(entry), 0);
      if (got == -FI_EAGAIN) {
        (void)look();
        continue;
      }
      require(got, "fi_eq_read");
      TICKPATH_CHECK(event == wanted, "another event");
      return entry;
    }
  }

  void connect(Line& line, bool first) {
    sockaddr_storage address{};
    std::size_t length = sizeof(address);
    if (first) {
      require(::fi_passive_ep(fabric_, info_, &passive_, nullptr), "fi_passive_ep");
      require(::fi_pep_bind(passive_, &events_->fid, 0), "fi_pep_bind");
      require(::fi_listen(passive_), "fi_listen");
      require(::fi_getname(&passive_->fid, &address, &length), "fi_getname");
      line.send(&address, sizeof(address));
      fi_eq_cm_entry request = await_event(FI_CONNREQ);
      make_endpoint(request.info);
      require(::fi_accept(endpoint_, nullptr, 0), "fi_accept");
      ::fi_freeinfo(request.info);
    } else {
      line.receive(&address, sizeof(address));
      make_endpoint(info_);
      require(::fi_connect(endpoint_, &address, nullptr, 0), "fi_connect");
    }
    (void)await_event(FI_CONNECTED);
  }

  void meet(Line& line) {
    fi_av_attr attributes{};
    attributes.count = 1;
    require(::fi_av_open(domain_, &attributes, &addresses_, nullptr), "fi_av_open");
    make_endpoint(info_);
    std::array<char, 256> name{};
    std::size_t length = name.size();
    require(::fi_getname(&endpoint_->fid, name.data(), &length), "fi_getname");
    line.send(name.data(), name.size());
    line.receive(name.data(), name.size());
    TICKPATH_CHECK(::fi_av_insert(addresses_, name.data(), 1, &peer_, 0, nullptr) == 1,
                   "fi_av_insert");
  }

  void post(std::uint32_t i) {
    require(::fi_recv(endpoint_, buffers_[i], kBytes, nullptr, peer_,
                      reinterpret_cast<void*>(std::uintptr_t{i})),
            "fi_recv");
  }
  // True: a message came.
  bool look() {
    fi_cq_msg_entry done{};
    const ssize_t got = ::fi_cq_read(queue_, &done, 1);
    if (got != 1) {
      if (got != -FI_EAGAIN) require(got, "fi_cq_read");
      return false;
    }
    if ((done.flags & FI_RECV) == 0) return false;
    post(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(done.op_context)));
    return true;
  }

  bool connected_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_eq* events_ = nullptr;
  fid_pep* passive_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  char message_[kBytes] = {};
  char buffers_[kReceives][kBytes] = {};
};

// ------------------------------------------------------------------------------------------ ours

class Ours {
 public:
  Ours(const std::string& core, Line& line, bool first) {
    device_ = rdma::open_device("ofi", core);
    region_ = device_->allocate(kBytes * (kReceives + 1), rdma::kLocalWrite, "ofi_lat");
    queue_ = device_->create_queue(4 * kReceives, nullptr);
    std::vector<rdma::ReceiveRequest> receives;
    for (std::uint32_t i = 0; i < kReceives; ++i) receives.push_back(receive(i));
    rdma::QueuePairOptions options;
    options.receive_depth = 2 * kReceives;
    std::array<char, 64> where{};
    if (first) {
      const auto listener = device_->listen("127.0.0.1:0");
      std::snprintf(where.data(), where.size(), "%s", listener->endpoint().c_str());
      line.send(where.data(), where.size());
      std::unique_ptr<rdma::ConnectionRequest> request;
      while (request == nullptr) request = listener->next();
      pair_ = request->accept(*queue_, options, {}, {}, receives);
    } else {
      line.receive(where.data(), where.size());
      rdma::ConnectParameters parameters{.endpoint = where.data()};
      parameters.initial_receives = receives;
      parameters.options = options;
      pair_ = device_->connect(*queue_, parameters).queue_pair;
    }
  }

  void send() {
    rdma::WorkRequest request{
        .opcode = rdma::Opcode::kSend, .local_address = message_, .length_bytes = kBytes};
    request.flags = rdma::kInline;
    // So that places become free again.
    if (++sent_ % kReceives == 0) request.flags |= rdma::kSignaled;
    while (pair_->post_send(request) == rdma::PostStatus::kQueueFull) (void)look();
  }
  void await() {
    while (arrived_ == 0) (void)look();
    --arrived_;
  }

 private:
  rdma::ReceiveRequest receive(std::uint64_t i) const {
    return {.wr_id = i,
            .local_address = region_->data() + (i + 1) * kBytes,
            .length_bytes = kBytes,
            .lkey = region_->lkey()};
  }
  bool look() {
    std::array<rdma::Completion, 8> done;
    const std::size_t count = queue_->poll(done);
    for (std::size_t i = 0; i < count; ++i) {
      TICKPATH_CHECK(done[i].status == rdma::CompletionStatus::kSuccess, "a request failed");
      if (done[i].opcode != rdma::Opcode::kRecv) continue;
      ++arrived_;
      TICKPATH_CHECK(pair_->post_receive(receive(done[i].wr_id)) == rdma::PostStatus::kOk,
                     "receive");
    }
    return count != 0;
  }

  std::unique_ptr<rdma::Device> device_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<rdma::QueuePair> pair_;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
  char message_[kBytes] = {};
};

template <class End>
void echo(const Plan& plan, Line& line) {
  End end(plan.core, line, true);
  for (std::uint64_t i = 0; i < kWarmup + plan.iterations; ++i) {
    end.await();
    end.send();
  }
  char over = 0;
  line.receive(&over, 1);  // so that its last answer is not lost with the endpoint
}

template <class End>
void measure(const Plan& plan, Line& line, bench::Samples& samples) {
  End end(plan.core, line, false);
  for (std::uint64_t i = 0; i < kWarmup + plan.iterations; ++i) {
    const TscTicks start = tsc_now();
    end.send();
    end.await();
    if (i >= kWarmup) samples.add((tsc_now() - start).value / 2);
  }
  const char over = 1;
  line.send(&over, 1);
}

int run(int argc, char** argv) {
  Plan plan;
  plan.core = bench::text_option(argc, argv, "--core", plan.core);
  TICKPATH_CHECK(plan.core == "tcp" || plan.core == "shm", "--core is tcp or shm");
  const bool quick = bench::is_quick(argc, argv);
  plan.rounds = bench::option(argc, argv, "--rounds", quick ? 2 : 10);
  plan.iterations = bench::option(argc, argv, "--iterations", quick ? 500 : 20'000);
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) {
    std::puts("skipped: two CPUs are needed");
    return 0;
  }
  bench::print_environment("ofi_lat: one way, ofi provider on libfabric's " + plan.core +
                           " beside bare libfabric on it");
  Line line;
  std::fflush(stdout);
  const pid_t child = ::fork();
  TICKPATH_CHECK(child >= 0, "fork");
  line.take(child == 0 ? 0 : 1);
  pin_this_thread(child == 0 ? cpus.front() : cpus.back());
  bench::Samples bare(plan.rounds * plan.iterations), ours(plan.rounds * plan.iterations);
  for (std::uint64_t round = 0; round < plan.rounds; ++round) {
    if (child == 0) {
      echo<Bare>(plan, line);
      echo<Ours>(plan, line);
    } else {
      measure<Bare>(plan, line, bare);
      measure<Ours>(plan, line, ours);
    }
  }
  if (child == 0) std::_Exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  bare.print("bare libfabric, fi_inject 64 bytes");
  ours.print("ofi provider, SEND 64 bytes inline");
  bench::print_ratio("ofi provider by bare libfabric, p50", ours.median_ns() / bare.median_ns(),
                     1.1);
  bench::print_ratio("... p99", ours.percentile_ns(99) / bare.percentile_ns(99));
  return status == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(run, argc, argv); }
