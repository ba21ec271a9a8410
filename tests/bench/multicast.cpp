// What publishing costs its sender by the number of subscribers: a multicast datagram on shm beside
// a WRITE to each of them, 64 bytes, in turns, one sample a message.
//   multicast [--quick] [--rounds N] [--messages N]
// The publisher has a core of its own; the subscribers, a process each, share the others.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"
#include "common/rdma/datagram.hpp"
#include "common/rdma/ordering.hpp"
#include "common/rdma/rdma.hpp"
#include "tests/bench/report.hpp"
#include "tests/support/child.hpp"
#include "tests/support/folder.hpp"

namespace {

using namespace tickpath;
using namespace tickpath::rdma;

constexpr std::uint32_t kBytes = 64;
constexpr std::uint64_t kSlots = 1024;  // of the ring of datagrams, and of that of WRITEs
constexpr std::size_t kSubscribersMax = 8;
constexpr double kBar = 1.1;  // the cost with eight subscribers by that with one
constexpr std::uint64_t kSignalEvery = 64;

struct Message {
  std::uint64_t fill[7];
  std::uint64_t number;
};
static_assert(sizeof(Message) == kBytes);

// Mapped by all processes: what each subscriber got.
struct Shared {
  struct alignas(64) Got {
    std::atomic<std::uint64_t> datagrams, overrun, writes;
  };
  std::array<Got, kSubscribersMax> got;
  std::atomic<bool> stop;
};

// ---------------------------------------------------------------------------------- subscriber

class Subscriber {
 public:
  Subscriber(const std::string& group, const std::string& endpoint)
      : memory_(device_->allocate(1 << 20, kLocalWrite | kRemoteWrite, "subscriber")),
        queue_(device_->create_queue(4096, nullptr)),
        datagrams_(device_->create_datagram_queue_pair(*queue_, {})) {
    for (std::uint64_t i = 0; i < kReceives; ++i) post(i);
    membership_ = datagrams_->join(group, MulticastRole::kReceiver);
    wait_for(*membership_);
    ConnectParameters parameters;
    parameters.endpoint = endpoint;
    const std::array<Grant, 1> grants{{{memory_.get(), kRemoteWrite}}};
    parameters.grants = grants;
    // The publisher may be about to listen.
    for (int tries = 0;; ++tries) {
      try {
        connected_ = device_->connect(*queue_, parameters);
        return;
      } catch (const SetupError& error) {
        if (error.cause() != SetupCause::kRefused || tries == 5000) throw;
        ::usleep(1000);
      }
    }
  }

  // Until the publisher stops; looks at both, as fast as its share of the core allows.
  void run(Shared::Got& got, const std::atomic<bool>& stop) {
    const auto* const ring = reinterpret_cast<const Message*>(memory_->data());
    std::uint64_t next_write = 1;
    std::array<Completion, 32> completions;
    while (!stop.load(std::memory_order_relaxed)) {
      const std::size_t count = queue_->poll(completions);
      std::uint64_t datagrams = 0;
      for (std::size_t i = 0; i < count; ++i) {
        if (completions[i].status != CompletionStatus::kSuccess) return;
        ++datagrams;
        post(completions[i].wr_id);
      }
      if (datagrams != 0) got.datagrams.fetch_add(datagrams, std::memory_order_relaxed);
      const std::uint64_t seen = load_placed(ring[next_write % kSlots].number);
      if (seen >= next_write) {
        next_write = seen + 1;
        got.writes.fetch_add(1, std::memory_order_relaxed);
      } else if (count == 0) {
        ::sched_yield();  // to the other subscribers of this core
      }
    }
    got.overrun.store(datagrams_->counters().overrun, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kReceives = 256;
  static constexpr std::size_t kReceiveBytes = kGrhBytes + kBytes;
  static constexpr std::size_t kReceivesAt = kSlots * kBytes;

  void post(std::uint64_t index) {
    TICKPATH_CHECK(datagrams_->post_receive(
                       {.wr_id = index,
                        .local_address = memory_->data() + kReceivesAt + index * kReceiveBytes,
                        .length_bytes = kReceiveBytes,
                        .lkey = memory_->lkey()}) == PostStatus::kOk,
                   "there is room for all receives");
  }

  std::unique_ptr<Device> device_ = open_device("shm", "");
  std::unique_ptr<MemoryRegion> memory_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<DatagramQueuePair> datagrams_;
  std::unique_ptr<MulticastMembership> membership_;
  Connected connected_;
};

// ----------------------------------------------------------------------------------- publisher

class Publisher {
 public:
  Publisher(const std::string& group, const std::string& endpoint)
      : memory_(device_->allocate(1 << 16, kLocalWrite, "publisher")),
        queue_(device_->create_queue(4096, nullptr)),
        datagrams_(device_->create_datagram_queue_pair(
            *queue_, {.datagram_bytes_max = kBytes, .ring_datagrams = kSlots})),
        listener_(device_->listen(endpoint)) {
    membership_ = datagrams_->join(group, MulticastRole::kSender);
    wait_for(*membership_);
  }

  // A subscriber connects once it has joined.
  void accept(std::size_t count) {
    while (pairs_.size() < count) {
      pollfd waiting{listener_->file_descriptor(), POLLIN, 0};
      TICKPATH_CHECK(::poll(&waiting, 1, 10'000) == 1, "a subscriber connects");
      if (const auto request = listener_->next())
        pairs_.push_back(request->accept(*queue_, {}, {}, {}, {}));
    }
  }

  // Ticks that posting one message took.
  std::uint64_t send_datagram() noexcept {
    ++datagrams_sent_;
    DatagramRequest request = datagram_to(*membership_->group());
    request.flags = flags_of(datagrams_sent_);
    request.local_address = message_with(datagrams_sent_);
    request.length_bytes = kBytes;
    request.lkey = memory_->lkey();
    const std::uint64_t begun = tsc_now().value;
    const PostStatus status = datagrams_->post_send(request);
    const std::uint64_t ticks = tsc_now().value - begun;
    TICKPATH_CHECK(status == PostStatus::kOk, "a datagram is posted");
    return ticks;
  }

  std::uint64_t write_to_each() noexcept {
    ++writes_sent_;
    WorkRequest request{.opcode = Opcode::kWrite, .flags = flags_of(writes_sent_)};
    request.local_address = message_with(writes_sent_);
    request.length_bytes = kBytes;
    request.lkey = memory_->lkey();
    bool good = true;
    const std::uint64_t begun = tsc_now().value;
    for (const auto& pair : pairs_) {
      const RemoteRegion& remote = pair->remote_regions()[0];
      request.rkey = remote.rkey;
      request.remote_address = remote.address + writes_sent_ % kSlots * kBytes;
      good = good && pair->post_send(request) == PostStatus::kOk;
    }
    const std::uint64_t ticks = tsc_now().value - begun;
    TICKPATH_CHECK(good, "a WRITE is posted");
    return ticks;
  }

  void reclaim() noexcept {
    std::array<Completion, 64> completions;
    while (queue_->poll(completions) != 0) {
    }
  }
  std::uint64_t wakeups() const noexcept { return datagrams_->counters().wakeups; }

 private:
  static std::uint8_t flags_of(std::uint64_t number) noexcept {
    return number % kSignalEvery == 0 ? std::uint8_t{kSignaled} : std::uint8_t{0};
  }
  const void* message_with(std::uint64_t number) noexcept {
    auto* const message = reinterpret_cast<Message*>(memory_->data());
    message->number = number;
    return message;
  }

  std::unique_ptr<Device> device_ = open_device("shm", "");
  std::unique_ptr<MemoryRegion> memory_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<DatagramQueuePair> datagrams_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<MulticastMembership> membership_;
  std::vector<std::unique_ptr<QueuePair>> pairs_;
  std::uint64_t datagrams_sent_ = 0;
  std::uint64_t writes_sent_ = 0;
};

// ------------------------------------------------------------------------------------- a round

struct Figures {
  explicit Figures(std::size_t capacity) : datagram(capacity), writes(capacity) {}
  bench::Samples datagram, writes;
  std::uint64_t arrived = 0, overrun = 0, written = 0;
};

// About a microsecond: subscribers look at the line again before the next message.
void pause_a_little() noexcept {
  for (int i = 0; i < 25; ++i) cpu_relax();
}

void run_round(std::size_t subscribers, std::uint64_t messages, Shared& shared, Figures& figures) {
  const test_support::Folder folder;
  const std::string group = folder / "group", endpoint = folder / "endpoint";
  const std::vector<int> cpus = allowed_cpus();
  new (&shared) Shared{};
  std::vector<std::unique_ptr<test_support::Child>> children;
  // Before this process has threads.
  for (std::size_t i = 0; i < subscribers; ++i) {
    children.push_back(std::make_unique<test_support::Child>([&, i] {
      if (cpus.size() > 1) pin_this_thread(cpus[1 + i % (cpus.size() - 1)]);
      Subscriber subscriber(group, endpoint);
      subscriber.run(shared.got[i], shared.stop);
      return 0;
    }));
  }
  std::thread publishing([&] {
    Publisher publisher(group, endpoint);
    publisher.accept(subscribers);
    pin_this_thread(cpus[0]);
    for (std::uint64_t i = 0; i < messages; ++i) {
      figures.datagram.add(publisher.send_datagram());
      pause_a_little();
      figures.writes.add(publisher.write_to_each());
      pause_a_little();
      if (i % kSignalEvery != 0) continue;
      publisher.reclaim();
      if (cpus.size() < 2) ::sched_yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    shared.stop = true;
    TICKPATH_CHECK(publisher.wakeups() == 0, "nobody sleeps here");
    for (const auto& child : children) TICKPATH_CHECK(child->wait() == 0, "a subscriber works");
  });
  publishing.join();
  for (std::size_t i = 0; i < subscribers; ++i) {
    figures.arrived += shared.got[i].datagrams;
    figures.overrun += shared.got[i].overrun;
    figures.written += shared.got[i].writes;
  }
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  const std::uint64_t rounds = bench::option(argc, argv, "--rounds", quick ? 1 : 5);
  const std::uint64_t messages = bench::option(argc, argv, "--messages", quick ? 500 : 100'000);
  void* const page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TICKPATH_CHECK(page != MAP_FAILED, "a page for all");
  auto& shared = *static_cast<Shared*>(page);
  constexpr std::array<std::size_t, 4> kCounts{1, 2, 4, 8};
  std::vector<Figures> figures(kCounts.size(), Figures(rounds * messages));
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kCounts.size(); ++i)
      run_round(kCounts[i], messages, shared, figures[i]);
  }
  bench::print_environment("multicast: what a message of 64 bytes costs its publisher, shm");
  for (std::size_t i = 0; i < kCounts.size(); ++i) {
    const std::string count = std::to_string(kCounts[i]);
    figures[i].datagram.print("one datagram to a group of " + count);
    figures[i].writes.print("WRITEs, to " + count);
    const std::uint64_t sent = kCounts[i] * rounds * messages;
    std::printf(
        "  of %llu datagrams %llu arrived, %llu were overwritten before; %llu WRITEs seen\n",
        static_cast<unsigned long long>(sent), static_cast<unsigned long long>(figures[i].arrived),
        static_cast<unsigned long long>(figures[i].overrun),
        static_cast<unsigned long long>(figures[i].written));
    // More would be a ring that hands out what was never sent; none, a bench of nothing.
    TICKPATH_CHECK(figures[i].arrived > 0 && figures[i].arrived + figures[i].overrun <= sent,
                   "what arrives was sent");
  }
  bench::print_ratio("a datagram, 8 subscribers by 1, p50",
                     figures.back().datagram.median_ns() / figures.front().datagram.median_ns(),
                     kBar);
  // The clock's steps are of the size of a median: so the tail as well.
  bench::print_ratio(
      "a datagram, 8 subscribers by 1, p99",
      figures.back().datagram.percentile_ns(99) / figures.front().datagram.percentile_ns(99));
  bench::print_ratio("WRITEs, 8 subscribers by 1, p50",
                     figures.back().writes.median_ns() / figures.front().writes.median_ns());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(run, argc, argv); }
