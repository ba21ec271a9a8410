#include "tests/support/alloc_guard/syscall_guard.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <execinfo.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/base/datapath_guard.hpp"

namespace tickpath {
// The program's. Weak: a preloaded guard also loads into programs that have no datapath.
DatapathState datapath_state() noexcept __attribute__((weak));
extern void (*datapath_watcher)() noexcept __attribute__((weak));
}  // namespace tickpath

// A system call from the one place that the filter lets through. Kernel convention: a negative
// errno is the failure. Arguments as the x86-64 psABI passes them: number, then six of the call's.
extern "C" long tickpath_guard_call(long number, long a, long b, long c, long d, long e, long f);
extern "C" const char tickpath_guard_return[];
asm(R"(
  .text
  .globl tickpath_guard_call
  .hidden tickpath_guard_call
  .globl tickpath_guard_return
  .hidden tickpath_guard_return
  .type tickpath_guard_call, @function
tickpath_guard_call:
  .cfi_startproc
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
tickpath_guard_return:
  ret
  .cfi_endproc
  .size tickpath_guard_call, . - tickpath_guard_call
)");

namespace tickpath::test_support {
namespace {

std::atomic<std::uint64_t> watched{0};
[[gnu::tls_model("initial-exec")]] thread_local bool this_thread_watched = false;
[[gnu::tls_model("initial-exec")]] thread_local bool complaining = false;

// What passes without a trap. Of the last line: the handler's own return; and what glibc calls as a
// thread ends, when it has blocked all signals and a trap would kill the process.
constexpr long kPassing[] = {
    SYS_sendto,         SYS_sendmsg,     SYS_sendmmsg,  SYS_recvfrom,        SYS_recvmsg,
    SYS_recvmmsg,       SYS_sched_yield, SYS_ppoll,     SYS_timerfd_settime, SYS_membarrier,
    SYS_clock_gettime,  SYS_epoll_wait,  SYS_epoll_ctl, SYS_rt_sigreturn,    SYS_restart_syscall,
    SYS_rt_sigprocmask, SYS_madvise,     SYS_exit,      SYS_exit_group};

const char* name_of(long number) noexcept {
  switch (number) {
    case SYS_read:
      return "read";
    case SYS_write:
      return "write";
    case SYS_openat:
      return "openat";
    case SYS_close:
      return "close";
    case SYS_futex:
      return "futex";
    case SYS_mmap:
      return "mmap";
    case SYS_munmap:
      return "munmap";
    case SYS_brk:
      return "brk";
    case SYS_getpid:
      return "getpid";
    case SYS_gettid:
      return "gettid";
    case SYS_clock_nanosleep:
      return "clock_nanosleep";
    default:
      return "see asm/unistd_64.h";
  }
}

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) noexcept {
  return tickpath_guard_call(number, a, b, c, d, 0, 0);
}

long address(const void* pointer) noexcept { return reinterpret_cast<long>(pointer); }

// A socket, an eventfd or a timerfd.
bool waits_or_talks(long descriptor) noexcept {
  struct stat status;
  if (call(SYS_fstat, descriptor, address(&status)) == 0 && S_ISSOCK(status.st_mode)) return true;
  char path[40];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%ld", descriptor);
  char target[32] = {};
  if (call(SYS_readlink, address(path), address(target), sizeof(target) - 1) <= 0) return false;
  return std::strcmp(target, "anon_inode:[eventfd]") == 0 ||
         std::strcmp(target, "anon_inode:[timerfd]") == 0;
}

void complain(long number, long first) noexcept {
  char thread[16] = "?";
  (void)call(SYS_prctl, PR_GET_NAME, address(thread));
  char line[200];
  const int length = std::snprintf(
      line, sizeof(line),
      "tickpath system call guard: call %ld (%s), first argument %ld, on the polling datapath "
      "thread %s (process %d)\n",
      number, name_of(number), first, thread, static_cast<int>(::getpid()));
  (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  void* frames[64];
  const int depth = ::backtrace(frames, 64);
  ::backtrace_symbols_fd(frames, depth, STDERR_FILENO);
}

// The kernel has left the call undone; everything that was asked is in the saved registers.
void on_trap(int, siginfo_t*, void* context) noexcept {
  const int saved_errno = errno;
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const long number = registers[REG_RAX];
  const bool forbidden =
      !complaining && datapath_state() == DatapathState::kPolling &&
      !((number == SYS_read || number == SYS_write) && waits_or_talks(registers[REG_RDI]));
  if (forbidden) {
    const ComplaintScope complaint;
    complain(number, registers[REG_RDI]);
    const char* mode = std::getenv("TICKPATH_ALLOC_GUARD");
    if (mode == nullptr || std::strcmp(mode, "report") != 0) std::abort();
  }
  registers[REG_RAX] =
      tickpath_guard_call(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                          registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  errno = saved_errno;
}

// The filter (seccomp(2), "struct seccomp_data"), about 40 instructions.
class Filter {
 public:
  Filter() noexcept {
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    jump_if(AUDIT_ARCH_X86_64, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    for (const long number : kPassing) {
      jump_if(static_cast<std::uint32_t>(number), 0, 1);
      add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    // Our own place: both halves of the address behind the syscall instruction (little-endian).
    const auto place = reinterpret_cast<std::uint64_t>(tickpath_guard_return);
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer));
    jump_if(static_cast<std::uint32_t>(place), 0, 3);
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer) + 4);
    jump_if(static_cast<std::uint32_t>(place >> 32), 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  }
  // For the calling thread alone. False: errno says why.
  bool install() noexcept {
    const sock_fprog program{static_cast<unsigned short>(count_), code_.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
  }

 private:
  void add(unsigned code, std::size_t value) noexcept {
    code_[count_++] = {static_cast<std::uint16_t>(code), 0, 0, static_cast<std::uint32_t>(value)};
  }
  void jump_if(std::uint32_t value, std::uint8_t equal, std::uint8_t other) noexcept {
    code_[count_++] = {BPF_JMP | BPF_JEQ | BPF_K, equal, other, value};
  }
  std::array<sock_filter, 16 + 2 * std::size(kPassing)> code_{};
  std::size_t count_ = 0;
};

void watch_this_thread() noexcept {
  if (this_thread_watched) return;
  this_thread_watched = true;
  sigset_t trap;  // the skeleton's threads start with every signal blocked
  ::sigemptyset(&trap);
  ::sigaddset(&trap, SIGSYS);
  ::pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
  Filter filter;
  if (!filter.install()) {
    std::perror("tickpath system call guard: this kernel takes no filter");
    return;  // the report says how many threads are watched: a test sees it there
  }
  watched.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void watch_system_calls() noexcept {
  if (&datapath_watcher == nullptr) return;  // no tickpath program
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  // SA_NODEFER: what the handler itself calls is trapped and carried out, too.
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigaction(SIGSYS, &action, nullptr);
  datapath_watcher = watch_this_thread;
}

std::uint64_t watched_threads() noexcept { return watched.load(std::memory_order_relaxed); }

ComplaintScope::ComplaintScope() noexcept { complaining = true; }
ComplaintScope::~ComplaintScope() { complaining = false; }
bool ComplaintScope::held() noexcept { return complaining; }

}  // namespace tickpath::test_support
