// A TCP connection's way through a network that can fail: passes bytes on until it is told to cut.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tickpath::test_support {

class Relay {
 public:
  // Listens at a free port of 127.0.0.1; each connection is passed on to `target_port` there.
  explicit Relay(std::uint16_t target_port);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  // Resets the connections after so many more bytes, of both ways: what comes later is lost, and a
  // message may be halved.
  void cut_after(std::uint64_t bytes) noexcept { left_.store(bytes); }
  std::uint64_t cuts() const noexcept { return cuts_.load(); }
  // Resets what there is, and whoever comes, until it is open again.
  void set_closed(bool closed) noexcept { closed_.store(closed); }

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;
  struct Pair {
    int ends[2];
  };

  void run();
  void accept_one();
  // False when the pair is done for.
  bool pass(Pair& pair, int from);
  void reset_all();

  std::uint16_t target_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::vector<Pair> pairs_;  // of the thread
  std::atomic<std::uint64_t> left_{kNever};
  std::atomic<std::uint64_t> cuts_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace tickpath::test_support
