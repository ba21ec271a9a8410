// The way of an order through oeg to the exchange, for benchmarks: a gateway with every check,
// ledger, journal on disk, FIX store and trace, and the other ends of its TCP connections.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/fix/session.hpp"
#include "oeg/journal.hpp"
#include "oeg/pair.hpp"
#include "tests/bench/orders.hpp"

namespace tickpath::oeg {

// A folder for what a benchmark writes, removed at its end.
class BenchFolder {
 public:
  BenchFolder();
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Two ends of a TCP connection over loopback. near: the gateway's.
struct TcpPair {
  int near;
  int far;
};
TcpPair tcp_pair();

// Keeps the receive buffers of the far ends empty, on one thread: of a FIX acceptor each by its
// session, of a bare connection by reading.
class Peers {
 public:
  // cpu: where the thread runs; -1: anywhere.
  Peers(const BenchFolder& folder, const std::vector<int>& fix_sockets, int bare_socket,
        int cpu = -1);
  ~Peers();

 private:
  void run(int cpu);

  std::vector<std::unique_ptr<fix::Session>> sessions_;
  int bare_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// The bare connection's near end: what a send() of as many bytes costs.
class BareSender {
 public:
  explicit BareSender(int socket) : socket_(socket) {}
  ~BareSender();
  void set_bytes(std::size_t bytes) { message_.assign(bytes, 'x'); }
  // TSC ticks; 0: not all of it was taken.
  std::uint64_t send() noexcept;

 private:
  int socket_;
  std::string message_;
};

// Journal, FIX session, trace and gateway, with the ports that the program gives it, less the
// fabric to strategies and risk.
class OrderPath final : private NoFabric {
 public:
  // orders: that it will send at most; with few its files are small, and so is the time they take.
  OrderPath(const BenchFolder& folder, const std::string& name, std::uint32_t orders);

  Journal& journal() noexcept { return journal_; }
  fix::Session& session() noexcept { return session_; }
  const Gateway& gateway() const noexcept { return *gateway_; }

  // Logs on over this socket. pair: by way of which everything is recorded, and sent; it leads.
  void start(int fix_socket, Pair* pair = nullptr);
  // As the datapath's turn does it, as far as orders need it.
  void turn();
  // Throws Error where that takes a minute.
  template <class Done>
  void turn_until(const char* what, Done&& done);
  // An order; TSC ticks from a request seen to its message sent, as the hops oeg.seen and oeg.sent
  // have them. The order is rejected by the bench itself, so that the ledger does not fill up.
  std::uint64_t send_order(std::uint32_t counter);
  // TSC ticks of the newest order from its message in the store to the standby's word that it has
  // all that led to it.
  std::uint64_t mirror_ticks() const noexcept { return mirror_ticks_; }
  // Orders whose message had to wait for the standby longer than its sender waits.
  std::uint64_t waited() const noexcept { return waited_; }
  // Bytes on the wire of one order.
  std::size_t measure_bytes();

 private:
  fix::SendStatus send(const fix::NewOrderSingle& message, fix::SendTimes& times) override;
  fix::SendStatus send(const fix::OrderCancelRequest& message, fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  fix::SendStatus send(const fix::OrderCancelReplaceRequest& message,
                       fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  fix::SendStatus send(const fix::OrderStatusRequest& message, fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  bool congested() const noexcept override { return false; }
  bool up() const noexcept override { return session_.logged_on(); }
  bool takes_orders() const noexcept override { return true; }
  bool behind_gap() const noexcept override { return session_.behind_gap(); }
  std::uint32_t next_seq() const noexcept override { return session_.next_sender_seq(); }
  // What goes to strategies and risk waits for the standby as the program's does.
  bool send(std::size_t, const wire::OrderReport&) noexcept override { return may_act(); }
  void publish(const wire::OrderEvent&) noexcept override { (void)may_act(); }

  bool may_act() noexcept { return pair_ == nullptr || pair_->log().may_act(); }
  void forget(std::uint64_t order_id);

  Journal journal_;
  fix::Session session_;
  trace::TraceWriter trace_;
  Pair* pair_ = nullptr;
  std::unique_ptr<Gateway> gateway_;
  fix::SendTimes last_{};
  std::uint64_t mirror_ticks_ = 0;
  std::uint64_t waited_ = 0;
};

}  // namespace tickpath::oeg
