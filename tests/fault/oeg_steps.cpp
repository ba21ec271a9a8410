// The program oeg_steps: oeg, but that a script can have it stop or end between two steps, and
// break a rule (oeg/steps.hpp). The script writes what it wants into a small file, whose path is in
// TICKPATH_STEPS, at any time while oeg runs; pair.py is the other side.
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oeg/steps.hpp"

namespace tickpath::oeg {
namespace {

// The file. script -> oeg, but for `step` once it is reached, and `reached`.
//  0 step | 4 signal | 8 passes | 16 broken | 20 reached
struct Orders {
  std::uint32_t step;    // Step; 0: none. Written last
  std::uint32_t signal;  // SIGKILL or SIGSTOP, to ourselves
  std::uint64_t passes;  // through the step until then
  std::uint32_t broken;  // Rules
  std::uint32_t reached;
};

Orders* map_orders() noexcept {
  static Orders none{};
  const char* const path = std::getenv("TICKPATH_STEPS");
  const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0 ||
      status.st_size < static_cast<off_t>(sizeof(Orders)))
    return &none;
  void* const mapped = ::mmap(nullptr, sizeof(Orders), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return mapped == MAP_FAILED ? &none : static_cast<Orders*>(mapped);
}

Orders* const orders = map_orders();

}  // namespace

void at(Step step) noexcept {
  // Acquire: pairs with the script's last store; what it wrote before is there.
  if (__atomic_load_n(&orders->step, __ATOMIC_ACQUIRE) != static_cast<std::uint32_t>(step)) return;
  if (orders->passes > 1) {
    --orders->passes;
    return;
  }
  orders->reached = orders->step;
  orders->step = 0;
  ::kill(::getpid(), static_cast<int>(orders->signal));
}

bool broken(Rule rule) noexcept {
  return (__atomic_load_n(&orders->broken, __ATOMIC_RELAXED) & static_cast<std::uint32_t>(rule)) !=
         0;
}

}  // namespace tickpath::oeg
