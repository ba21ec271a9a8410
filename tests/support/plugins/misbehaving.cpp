// Hangs or crashes in the callback that its parameter names.
#include <cstdlib>
#include <string>

#include "strategy/plugin.hpp"

namespace {

// Never ends: each call keeps its room until the next one has returned.
[[gnu::noinline]] int deeper(int depth) {
  volatile char room[1024];
  room[0] = static_cast<char>(depth);
  return depth <= 0 ? room[0] : deeper(depth + 1) + room[0];
}

class Misbehaving final : public tickpath::Strategy {
 public:
  // In create(), before there are parameters.
  Misbehaving() {
    if (std::getenv("TICKPATH_TEST_HANG_IN_CREATE") != nullptr) hang();
  }

 private:
  void start() override {
    where_ = parameter<std::string>("where");
    how_ = parameter<std::string>("how");
    maybe("start");
  }
  void gateway_state(bool /*up*/) override { maybe("gateway_state"); }
  void stop() override { maybe("stop"); }

  static void hang() {
    for (volatile bool forever = true; forever;) {
    }
  }
  void maybe(const char* callback) const {
    if (where_ != callback) return;
    if (how_ == "hang") hang();
    if (how_ == "crash") *static_cast<volatile int*>(nullptr) = 1;  // NOLINT: the point of it
    if (how_ == "overflow") (void)deeper(1);
    if (how_ == "abort") std::abort();
  }

  std::string where_;
  std::string how_;
};

}  // namespace

TICKPATH_STRATEGY(Misbehaving, "misbehaving", "1")
