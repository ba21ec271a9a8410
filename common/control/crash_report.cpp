#include "common/control/crash_report.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <execinfo.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/base/foreign_code.hpp"
#include "common/base/names.hpp"

namespace tickpath::control {
namespace {

constexpr std::array<int, 5> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kFramesMax = 24;
constexpr std::size_t kStackBytes = 64 * 1024;
// The control thread looks every kTickMs; one that is held up must not keep the dead from dying.
constexpr int kWaitMs = 2000;

// Everything here is written before the handler can run, or by the one thread that came first.
std::array<char, 32> program{};
std::array<struct sigaction, 65> former{};
pid_t control_thread = 0;
std::atomic_flag somebody = ATOMIC_FLAG_INIT;
std::array<char, 512> line{};
// Release and acquire: the line is complete where it is seen.
std::atomic<const char*> to_tell{nullptr};
std::atomic<int> untold{1};  // of those who are to tell it

// A line of text, made by what a handler may call (signal-safety(7)): no printf, no locale.
class Line {
 public:
  Line& operator<<(std::string_view text) noexcept {
    const std::size_t room = line.size() - 1 - length_;
    const std::size_t count = text.size() < room ? text.size() : room;
    std::memcpy(line.data() + length_, text.data(), count);
    length_ += count;
    line[length_] = '\0';
    return *this;
  }
  Line& hex(std::uintptr_t value) noexcept {
    std::array<char, 16> digits{};
    std::size_t first = digits.size();
    do {
      digits[--first] = "0123456789abcdef"[value & 15];
      value >>= 4;
    } while (value != 0);
    return *this << "0x" << std::string_view(digits.data() + first, digits.size() - first);
  }

 private:
  std::size_t length_ = 0;
};

const char* name_of(int number) noexcept {
  return name_in(number,
                 {{SIGSEGV, "SIGSEGV (invalid memory access)"},
                  {SIGBUS, "SIGBUS (memory of a file that is cut short, or a full disk)"},
                  {SIGFPE, "SIGFPE (division by zero, or overflow)"},
                  {SIGILL, "SIGILL (illegal instruction)"}},
                 "SIGABRT (abort)");
}

void describe(int number, const siginfo_t& info) noexcept {
  std::array<char, 17> thread{};
  (void)::prctl(PR_GET_NAME, thread.data());
  Line text;
  text << kCrashedBy << name_of(number);
  if (number == SIGSEGV || number == SIGBUS)
    (text << " at address ").hex(reinterpret_cast<std::uintptr_t>(info.si_addr));
  text << ", thread " << thread.data();
  // A crash elsewhere at the same moment is told with it: it is the best that is known.
  const char* const foreign = foreign_code();
  if (foreign != nullptr) text << ", " << foreign;
}

void say(const char* text) noexcept {
  for (const char* part : {static_cast<const char*>(program.data()), ": ", text, "\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
}

void wait_until_told() noexcept {
  to_tell.store(line.data(), std::memory_order_release);
  const timespec pause{0, 1'000'000};
  for (int ms = 0; ms < kWaitMs && untold.load(std::memory_order_acquire) > 0; ++ms)
    (void)::nanosleep(&pause, nullptr);
}

void on_crash(int number, siginfo_t* info, void* /*context*/) {
  const int kept_errno = errno;
  // A second one, in another thread or in here, goes its way at once.
  if (!somebody.test_and_set()) {
    describe(number, *info);
    say(line.data());
    std::array<void*, kFramesMax> frames;
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), kFramesMax), STDERR_FILENO);
    if (::gettid() == control_thread)
      say(line.data());  // once more: whoever shows the last lines shows it
    else
      wait_until_told();
  }
  ::sigaction(number, &former[static_cast<std::size_t>(number)], nullptr);
  errno = kept_errno;
  // A fault comes again as soon as we return; what was sent by somebody does not.
  if (info->si_code <= 0) ::raise(number);
}

}  // namespace

void report_crashes(const std::string& name, int tellers) {
  untold.store(tellers, std::memory_order_relaxed);
  name.copy(program.data(), program.size() - 1);
  control_thread = ::gettid();
  // The first call loads the unwinder, which allocates: not in a handler.
  std::array<void*, 1> frame;
  (void)::backtrace(frame.data(), 1);
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int number : kSignals)
    ::sigaction(number, &action, &former[static_cast<std::size_t>(number)]);
}

CrashStack::CrashStack() {
  stack_t stack{};
  // A sanitizer's own is as good.
  if (::sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
  memory_ = std::make_unique<std::byte[]>(kStackBytes);
  stack = {};
  stack.ss_sp = memory_.get();
  stack.ss_size = kStackBytes;
  (void)::sigaltstack(&stack, nullptr);
}

CrashStack::~CrashStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  (void)::sigaltstack(&none, nullptr);
}

const char* crash_to_tell() noexcept { return to_tell.load(std::memory_order_acquire); }

void crash_told() noexcept {
  // Pairs with wait_until_told(): everything is written before the process ends.
  untold.fetch_sub(1, std::memory_order_release);
}

}  // namespace tickpath::control
