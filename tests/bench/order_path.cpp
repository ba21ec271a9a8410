#include "tests/bench/order_path.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/net/endpoint.hpp"

namespace tickpath::oeg {
namespace {

constexpr std::uint32_t kInstrument = 7;
// A busy machine may let either thread wait for seconds.
constexpr std::uint32_t kPatienceS = 60;

wire::OrderRequest order(std::uint32_t counter) {
  return bench_order(counter, kInstrument, 5'853'300, 100,
                     counter % 2 == 0 ? Side::kBuy : Side::kSell);
}

// Two records an order, and an eighth that a journal without a next segment keeps back.
JournalOptions journal_options(const std::string& path, std::uint32_t orders) {
  JournalOptions options;
  options.path = path;
  options.records = std::bit_ceil(3 * orders + 64);
  options.start = JournalStart::kFresh;
  return options;
}

fix::SessionOptions session_options(const std::string& store_path, std::uint32_t orders) {
  fix::SessionOptions options;
  options.sender = "OEG";
  options.target = "SIM";
  options.store_path = store_path;
  options.logon_timeout_s = kPatienceS;
  options.store_messages = std::min(options.store_messages, std::bit_ceil(orders));
  return options;
}

// Some ten stamps an order.
trace::TraceOptions trace_options(const std::string& path, std::uint32_t orders) {
  trace::TraceOptions options;
  options.path = path;
  options.program = "oeg";
  options.capacity = std::min(options.capacity, std::uint64_t{16} * orders);
  return options;
}

}  // namespace

BenchFolder::BenchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tickpath_bench_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw SystemError("a folder for the benchmark", errno);
  path_ = name;
}

BenchFolder::~BenchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TcpPair tcp_pair() {
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

// ---------------------------------------------------------------------------------- the far ends

Peers::Peers(const BenchFolder& folder, const std::vector<int>& fix_sockets, int bare_socket,
             int cpu)
    : bare_(bare_socket) {
  for (const int socket : fix_sockets) {
    fix::SessionOptions options;
    options.role = fix::SessionRole::kAcceptor;
    options.sender = "SIM";
    options.target = "OEG";
    options.store_path = folder.path("peer" + std::to_string(sessions_.size()) + ".store");
    options.logon_timeout_s = kPatienceS;
    options.store_messages = 64;  // it sends nothing but what keeps a session up
    sessions_.push_back(std::make_unique<fix::Session>(options));
    sessions_.back()->attach(socket);
  }
  thread_ = std::thread([this, cpu] { run(cpu); });
}

Peers::~Peers() {
  stop_ = true;
  thread_.join();
  ::close(bare_);
}

void Peers::run(int cpu) {
  if (cpu >= 0) pin_this_thread(cpu);
  fix::Handler nothing;
  char buffer[65536];
  std::vector<pollfd> ready;
  while (!stop_) {
    ready.assign(1, {bare_, POLLIN, 0});
    for (const auto& session : sessions_) ready.push_back({session->fd(), POLLIN, 0});
    ::poll(ready.data(), ready.size(), 1);
    for (const auto& session : sessions_) session->poll(nothing);
    while (::recv(bare_, buffer, sizeof(buffer), MSG_DONTWAIT) > 0) {
    }
  }
}

BareSender::~BareSender() { ::close(socket_); }

std::uint64_t BareSender::send() noexcept {
  const std::uint64_t begin = tsc_now().value;
  const ssize_t sent =
      ::send(socket_, message_.data(), message_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  const std::uint64_t end = tsc_now().value;
  return sent == static_cast<ssize_t>(message_.size()) ? end - begin : 0;
}

// ----------------------------------------------------------------------------------- the gateway

OrderPath::OrderPath(const BenchFolder& folder, const std::string& name, std::uint32_t orders)
    : journal_(journal_options(folder.path(name + ".journal"), orders)),
      session_(session_options(folder.path(name + ".store"), orders)),
      trace_(trace_options(folder.path(name + ".trace"), orders)) {}

void OrderPath::start(int fix_socket, Pair* pair) {
  pair_ = pair;
  JournalPort& recorded = pair == nullptr ? static_cast<JournalPort&>(journal_) : pair->log();
  VenuePort& venue = *this;
  StrategyPort& strategies = *this;
  EventPort& events = *this;
  gateway_ = std::make_unique<Gateway>(all_limits(), venue, strategies, events, recorded, trace_);
  gateway_->slots().assign(kBenchStrategy);
  gateway_->on_strategy_connected(0);
  gateway_->checks().set_risk_alive(true);
  quote(*gateway_, kInstrument, "AAPL", 5'853'200);
  session_.set_mirror(pair == nullptr ? nullptr : &pair->log());
  session_.attach(fix_socket);
  turn_until("the far end does not log on", [this] { return session_.logged_on(); });
}

template <class Done>
void OrderPath::turn_until(const char* what, Done&& done) {
  const std::int64_t deadline = clock::monotonic_ns() + kPatienceS * std::int64_t{1'000'000'000};
  while (!done()) {
    if (clock::monotonic_ns() > deadline)
      throw Error(
          std::string(what) + (session_.connected() ? "" : ": it is not connected") +
          (pair_ == nullptr || pair_->log().may_act() ? "" : ": the standby does not confirm"));
    turn();
  }
}

void OrderPath::turn() {
  if (pair_ != nullptr) pair_->turn(static_cast<std::uint64_t>(clock::monotonic_ns()));
  session_.poll(gateway_->reports());
}

std::uint64_t OrderPath::send_order(std::uint32_t counter) {
  const wire::OrderRequest request = order(counter);
  const std::uint64_t seen = tsc_now().value;
  gateway_->on_request(0, request);
  std::uint64_t sent = last_.sent.value;
  mirror_ticks_ = 0;
  if (pair_ != nullptr) {
    if (last_.mirrored.value != 0) [[likely]] {
      mirror_ticks_ = last_.mirrored.value - last_.encoded.value;
    } else {
      // The order is sent by a later turn, and only then.
      ++waited_;
      turn_until("an order does not leave", [this] { return !session_.wants_write(); });
      sent = tsc_now().value;
    }
  }
  forget(request.order_id);
  turn();
  return sent - seen;
}

std::size_t OrderPath::measure_bytes() {
  const std::uint64_t before = session_.counters().bytes_sent.get();
  (void)send_order(1);
  return session_.counters().bytes_sent.get() - before;
}

fix::SendStatus OrderPath::send(const fix::NewOrderSingle& message, fix::SendTimes& times) {
  const fix::SendStatus status = session_.send(message, &times);
  last_ = times;
  return status;
}

void OrderPath::forget(std::uint64_t order_id) {
  const Order* const sent = gateway_->ledger().find(order_id);
  if (sent == nullptr) return;
  fix::ExecutionReport report;
  report.exec_type = fix::ExecType::kRejected;
  report.cl_ord_id = order_id;
  report.symbol = gateway_->instruments()[sent->instrument].symbol;
  report.side = sent->side;
  gateway_->reports().on_execution_report(report, {1, false, tsc_now()});
}

}  // namespace tickpath::oeg
