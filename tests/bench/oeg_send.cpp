// From a request seen to its FIX message sent, against a bare send() of as many bytes: the gateway
// with every check, ledger, journal on disk, FIX store and trace, over TCP on loopback.
//
// Both are measured in turns in one run, on two connections of the same kind whose peers are read
// by one thread, so that neither has the better machine. Samples are those of the trace hops
// oeg.seen and oeg.sent themselves.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/fix/session.hpp"
#include "common/net/endpoint.hpp"
#include "oeg/journal.hpp"
#include "tests/bench/orders.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::oeg {
namespace {

constexpr double kBar = 1.4;

struct Pair {
  int near;
  int far;
};

// Two ends of a TCP connection over loopback.
Pair tcp_pair() {
  sockaddr_in address = net::Endpoint{INADDR_LOOPBACK, 0}.to_sockaddr();
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener, any, length) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, any, &length) != 0)
    throw SystemError("loopback listener", errno);
  const int near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(near, any, length) != 0) throw SystemError("loopback connect", errno);
  const int far = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  const int on = 1;
  ::setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return {near, far};
}

// Keeps both peers' receive buffers empty: the FIX acceptor's by its session, the other by reading.
class Peer {
 public:
  Peer(const std::string& directory, int fix_socket, int bare_socket) : bare_(bare_socket) {
    fix::SessionOptions options;
    options.role = fix::SessionRole::kAcceptor;
    options.sender = "SIM";
    options.target = "OEG";
    options.store_path = directory + "/peer.store";
    session_ = std::make_unique<fix::Session>(options);
    session_->attach(fix_socket);
    thread_ = std::thread([this] { run(); });
  }
  ~Peer() {
    stop_ = true;
    thread_.join();
    ::close(bare_);
  }

 private:
  void run() {
    fix::Handler nothing;
    char buffer[65536];
    while (!stop_) {
      pollfd ready[2] = {{session_->fd(), POLLIN, 0}, {bare_, POLLIN, 0}};
      ::poll(ready, 2, 1);
      session_->poll(nothing);
      while (::recv(bare_, buffer, sizeof(buffer), MSG_DONTWAIT) > 0) {
      }
    }
  }
  int bare_;
  std::unique_ptr<fix::Session> session_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// The gateway's ports as in the program, less the fabric.
class Ports final : public NoFabric {
 public:
  using NoFabric::send;
  explicit Ports(fix::Session& session) : session_(session) {}
  fix::SendStatus send(const fix::NewOrderSingle& message, fix::SendTimes& times) override {
    const fix::SendStatus status = session_.send(message, &times);
    last = times;
    return status;
  }
  fix::SendStatus send(const fix::OrderCancelRequest& message, fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  fix::SendStatus send(const fix::OrderCancelReplaceRequest& message,
                       fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  bool congested() const noexcept override { return false; }
  bool up() const noexcept override { return session_.logged_on(); }
  bool behind_gap() const noexcept override { return session_.behind_gap(); }
  std::uint32_t next_seq() const noexcept override { return session_.next_sender_seq(); }

  fix::SendTimes last{};

 private:
  fix::Session& session_;
};

wire::OrderRequest order(std::uint32_t counter) {
  return bench_order(counter, 7, 5'853'300, 100, counter % 2 == 0 ? Side::kBuy : Side::kSell);
}

// Every order is rejected by the bench itself, so that the ledger does not fill up.
void forget(Gateway& gateway, std::uint64_t order_id) {
  const Order* const order = gateway.ledger().find(order_id);
  if (order == nullptr) return;
  fix::ExecutionReport report;
  report.exec_type = fix::ExecType::kRejected;
  report.cl_ord_id = order_id;
  report.symbol = gateway.instruments()[order->instrument].symbol;
  report.side = order->side;
  gateway.on_execution_report(report, {1, false, tsc_now()});
}

int run(bool quick) {
  bench::print_environment("oeg.seen to oeg.sent against a bare send()");
  char name[] = "/tmp/tickpath_bench_XXXXXX";
  const std::string directory = ::mkdtemp(name);
  const Pair fix_pair = tcp_pair();
  const Pair bare_pair = tcp_pair();
  {
    Peer peer(directory, fix_pair.far, bare_pair.far);
    fix::SessionOptions session_options;
    session_options.sender = "OEG";
    session_options.target = "SIM";
    session_options.store_path = directory + "/oeg.store";
    fix::Session session(session_options);
    Ports ports(session);
    JournalOptions journal_options;
    journal_options.path = directory + "/oeg.journal";
    journal_options.records = 1u << 19;
    journal_options.start = JournalStart::kFresh;
    Journal journal(journal_options);
    trace::TraceOptions trace_options;
    trace_options.path = directory + "/oeg.trace";
    trace_options.program = "oeg";
    trace::TraceWriter trace(trace_options);
    const auto gateway =
        std::make_unique<Gateway>(all_limits(), ports, ports, ports, journal, trace);
    gateway->assign_slot(kBenchStrategy);
    gateway->on_strategy_connected(0);
    gateway->set_risk_alive(true);
    quote(*gateway, 7, "AAPL", 5'853'200);
    session.attach(fix_pair.near);
    while (!session.logged_on()) session.poll(*gateway);

    const std::uint32_t count = quick ? 200 : 100'000;
    bench::Samples ours(count);
    bench::Samples bare(count);
    const std::uint64_t bytes_before = session.counters().bytes_sent.get();
    gateway->on_request(0, order(1));
    const std::size_t bytes = session.counters().bytes_sent.get() - bytes_before;
    forget(*gateway, order(1).order_id);
    std::string same(bytes, 'x');
    for (std::uint32_t i = 2; i < count + 2; ++i) {
      const wire::OrderRequest request = order(i);
      const std::uint64_t seen = tsc_now().value;
      gateway->on_request(0, request);
      ours.add(ports.last.sent.value - seen);
      forget(*gateway, request.order_id);
      session.poll(*gateway);

      const std::uint64_t begin = tsc_now().value;
      const ssize_t sent =
          ::send(bare_pair.near, same.data(), same.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      const std::uint64_t end = tsc_now().value;
      if (sent == static_cast<ssize_t>(bytes)) bare.add(end - begin);
      // The peer's thread needs a core now and then, where there are few.
      if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    std::printf("%zu bytes a message, %llu orders\n", bytes,
                static_cast<unsigned long long>(gateway->counters().orders.sent.get()));
    ours.print("oeg.seen to oeg.sent", "checks, ledger, journal, FIX store, send()");
    bare.print("bare send()", "same bytes, same kind of connection");
    bench::print_ratio("oeg.seen to oeg.sent, medians", ours.median_ns() / bare.median_ns(), kBar);
    if (gateway->counters().orders.refused.get() != 0) {
      std::fprintf(stderr, "orders were refused: the figures mean nothing\n");
      return 1;
    }
  }
  ::close(bare_pair.near);
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace tickpath::oeg

int main(int argc, char** argv) {
  return tickpath::oeg::run(tickpath::bench::is_quick(argc, argv));
}
