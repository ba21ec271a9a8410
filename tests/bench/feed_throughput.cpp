// How many messages a second sim's replay, as fast as it can, drives through mdh: the real replayer
// with its market, and mdh's real datapath with every book, in two processes on two cores, joined
// by UDP multicast on loopback. Beside it, as the floor, the same packets by nothing but send() and
// recvmmsg() between two processes.
//
//   feed_throughput [--quick] [--messages N] [--symbols N] [--rate N]
//
// The recording is generated before, and in memory before the clock starts. Nobody subscribes to
// mdh; tracing is off. --rate limits the replay (messages/s; 0, the default: no limit).
// Every message is accounted for: sent = handled + missed, or the exit status is 1.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/feeds/generator/generator.hpp"
#include "common/net/multicast.hpp"
#include "common/rdma/rdma.hpp"
#include "mdh/datapath.hpp"
#include "mdh/notes.hpp"
#include "sim/replay/replayer.hpp"
#include "tests/bench/report.hpp"

namespace tickpath {
namespace {

constexpr double kBarPerSecond = 5e6;
constexpr const char* kInterface = "127.0.0.1";
// Turns without a packet, after the sender has ended, until the receiver ends.
constexpr int kIdleTurns = 20'000;
constexpr std::size_t kBatch = 64;

// What both processes map.
struct Shared {
  std::atomic<std::uint32_t> ready{0};
  std::atomic<std::uint32_t> ended{0};
  std::atomic<std::uint64_t> begin_tsc{0};
  std::atomic<std::uint64_t> next_sequence{0};  // that the receiver expects
  // The receiver's, final when it has exited.
  std::uint64_t end_tsc = 0;
  std::uint64_t packets = 0;
  std::uint64_t messages = 0;
  std::uint64_t missed = 0;
  std::uint64_t kernel_drops = 0;
  std::uint64_t bad = 0;
  double cpu_s = 0;
};

struct Result {
  std::string label;
  std::uint64_t sent = 0;
  std::uint64_t packets = 0;
  double seconds = 0;
  double sender_cpu_s = 0;
  double receiver_cpu_s = 0;
  std::uint64_t handled = 0;
  std::uint64_t missed = 0;
  std::uint64_t kernel_drops = 0;
  double per_second() const { return static_cast<double>(handled) / seconds; }
};

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// A group that no other run on this host has.
net::Endpoint group(unsigned salt) {
  const auto id = static_cast<unsigned>(::getpid());
  return net::parse_endpoint("239.254." + std::to_string(id % 251) + "." +
                             std::to_string(1 + salt) + ":" + std::to_string(21'000 + id % 20'000));
}

void take_core(std::size_t index) {
  const std::vector<int> cpus = allowed_cpus();
  pin_this_thread(cpus[index % cpus.size()]);
}

// Runs `receive` in a child on the second core, `send` here on the first. send() returns when all
// is sent.
void in_two_processes(Shared& shared, const std::function<void()>& receive,
                      const std::function<void()>& send) {
  const pid_t child = ::fork();
  if (child < 0) throw SystemError("cannot fork", errno);
  if (child == 0) {
    try {
      take_core(1);
      receive();
      std::_Exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "receiver: %s\n", error.what());
      shared.ready.store(2);
      std::_Exit(1);
    }
  }
  take_core(0);
  while (shared.ready.load() == 0) ::usleep(1000);
  if (shared.ready.load() == 1) send();
  shared.ended.store(1);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw Error("the receiving process failed");
}

class SharedPage {
 public:
  SharedPage()
      : memory_(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)) {
    if (memory_ == MAP_FAILED) throw SystemError("cannot map memory", errno);
    shared_ = new (memory_) Shared;
  }
  ~SharedPage() { ::munmap(memory_, sizeof(Shared)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  Shared& operator*() noexcept { return *shared_; }
  Shared* operator->() noexcept { return shared_; }

 private:
  void* memory_;
  Shared* shared_;
};

// Calls turn() until nothing comes any more; says when the last packet was done with.
void until_quiet(Shared& shared, const std::function<bool()>& turn) {
  const double cpu = cpu_seconds();
  shared.ready.store(1);
  int idle = 0;
  while (idle < kIdleTurns) {
    if (turn()) {
      shared.end_tsc = tsc_now().value;
      idle = 0;
    } else if (shared.ended.load() != 0) {
      ++idle;
    }
  }
  shared.cpu_s = cpu_seconds() - cpu;
}

Result result_of(const char* label, const Shared& shared, std::uint64_t sent, std::uint64_t packets,
                 double sender_cpu_s) {
  Result result;
  result.label = label;
  result.sent = sent;
  result.packets = packets;
  result.seconds = static_cast<double>(shared.end_tsc - shared.begin_tsc.load()) /
                   static_cast<double>(clock::tsc_hz());
  result.sender_cpu_s = sender_cpu_s;
  result.receiver_cpu_s = shared.cpu_s;
  result.handled = shared.messages;
  result.missed = shared.missed;
  result.kernel_drops = shared.kernel_drops;
  return result;
}

// ------------------------------------------------------------------------------- the programs

mdh::MdhConfig mdh_config(const net::Endpoint& group, std::uint32_t symbols) {
  mdh::MdhConfig config;
  config.feed.group = {group.text().substr(0, group.text().find(':')), group.port};
  config.feed.interface = kInterface;
  config.feed_batch = kBatch;
  config.feed_receive_buffer_bytes = 64 << 20;
  config.instruments_max = symbols + 1;
  config.orders_max = 1u << 20;
  config.levels_max = 1u << 18;
  return config;
}

void receive_by_mdh(Shared& shared, const mdh::MdhConfig& config) {
  const auto device = rdma::open_device("shm", "");
  mdh::BookPublisher publisher(*device, nullptr,
                               {.name = "mdh", .image_count = config.instruments_max});
  mdh::DirectoryTable directory(*device, config.instruments_max, "directory");
  trace::TraceWriter trace({});
  log::HotLog log;
  mdh::define_notes(log);
  mdh::MdhDatapath datapath(config, publisher, directory, nullptr, nullptr, trace, log);
  const mdh::FeedCounters& counters = datapath.feed().counters();
  until_quiet(shared, [&] {
    const bool worked = datapath.turn();
    shared.next_sequence.store(counters.next_sequence.get(), std::memory_order_relaxed);
    return worked;
  });
  datapath.close();
  for (int i = 0; i < 1000 && !datapath.closed(); ++i) datapath.turn();
  shared.packets = counters.packets.get();
  shared.messages = counters.messages.get();
  shared.missed = counters.missed_messages.get();
  shared.kernel_drops = datapath.socket_counters().kernel_drops.get();
  shared.bad = counters.malformed_messages.get() + counters.malformed_packets.get();
}

struct NoReports final : sim::ReportSink {
  void on_report(const sim::Report&) noexcept override {}
};

// The recording in the queue that the replayer drains.
std::unique_ptr<sim::MessageQueue> load(const itch::GeneratorOptions& options) {
  std::size_t blocks = 2;
  while (blocks * sim::MessageQueue::kBlockBytes < options.messages * 72) blocks *= 2;
  auto queue = std::make_unique<sim::MessageQueue>(blocks);
  itch::Generator generator(options);
  itch::RecordedMessage message;
  while (generator.next(message) == itch::ReadStatus::kMessage)
    if (!queue->push(message.bytes, message.timestamp_ns)) throw Error("the queue is too small");
  if (!queue->finish()) throw Error("the queue is too small");
  return queue;
}

// The end of session tells mdh of messages lost at the very end; itself it may be lost, too.
void tell_the_end(sim::FeedSender& feed, const Shared& shared) {
  for (int i = 0; i < 1'000 && shared.next_sequence.load() != feed.next_sequence(); ++i) {
    ::usleep(10'000);
    feed.send_end_of_session();
  }
}

Result drive_mdh(const itch::GeneratorOptions& recording, std::uint64_t rate) {
  const net::Endpoint where = group(0);
  SharedPage shared;
  const auto queue = load(recording);
  trace::TraceWriter trace({});
  sim::FeedOptions feed_options;
  feed_options.socket = {.group = where, .interface = kInterface};
  // As many as fit 1,472 bytes: nobody waits for a packet to fill, all of it is there.
  feed_options.packet_messages = 256;
  feed_options.session = itch::mold::Session("BENCH");
  sim::FeedSender feed(feed_options, trace);
  sim::ReplayerOptions options;
  options.pace.mode = sim::PaceMode::kMax;
  options.pace.rate = rate;
  options.pace.burst = 64;
  double cpu_s = 0;
  in_two_processes(
      *shared, [&] { receive_by_mdh(*shared, mdh_config(where, recording.symbols)); },
      [&] {
        // Behind the fork: shared with a child, each page would be copied at its first write.
        NoReports reports;
        sim::Matcher matcher({}, reports);
        sim::Market market(matcher);
        sim::Replayer replayer(options, *queue, feed, market);
        cpu_s = -cpu_seconds();
        shared->begin_tsc.store(tsc_now().value);
        replayer.start();
        while (replayer.state() == sim::ReplayState::kRunning) replayer.turn();
        cpu_s += cpu_seconds();
        tell_the_end(feed, *shared);
      });
  if (shared->bad != 0) throw Error("mdh found malformed packets or messages");
  return result_of("sim to mdh", *shared, feed.counters().messages.get(),
                   feed.counters().packets.get(), cpu_s);
}

// ---------------------------------------------------------------------------------- the floor

Result drive_floor(std::uint64_t packets, std::size_t bytes, double messages_per_packet) {
  const net::Endpoint where = group(1);
  SharedPage shared;
  net::UdpMulticastSender sender({.group = where, .interface = kInterface});
  double cpu_s = 0;
  in_two_processes(
      *shared,
      [&] {
        net::UdpMulticastReceiver receiver(
            {.group = where, .interface = kInterface, .receive_buffer_bytes = 64 << 20});
        net::ReceiveBatch batch(kBatch, 2'048);
        net::IoStatus status = net::IoStatus::kOk;
        until_quiet(*shared, [&] {
          const std::size_t got = batch.receive(receiver, status);
          shared->packets += got;
          return got != 0;
        });
      },
      [&] {
        const std::vector<std::byte> packet(bytes);
        cpu_s = -cpu_seconds();
        shared->begin_tsc.store(tsc_now().value);
        for (std::uint64_t i = 0; i < packets;)
          if (sender.send(packet) == net::IoStatus::kOk) ++i;
        cpu_s += cpu_seconds();
      });
  const auto messages = [&](std::uint64_t count) {
    return static_cast<std::uint64_t>(static_cast<double>(count) * messages_per_packet);
  };
  shared->messages = messages(shared->packets);
  shared->missed = messages(packets) - shared->messages;
  return result_of("floor", *shared, messages(packets), packets, cpu_s);
}

void print(const Result& r) {
  std::printf(
      "%-12s %10.0f messages/s handled; sent %llu in %llu packets (%.1f each), handled %llu, "
      "missed %llu; CPU ns a message: sender %.1f, receiver %.1f\n",
      r.label.c_str(), r.per_second(), static_cast<unsigned long long>(r.sent),
      static_cast<unsigned long long>(r.packets),
      static_cast<double>(r.sent) / static_cast<double>(r.packets),
      static_cast<unsigned long long>(r.handled), static_cast<unsigned long long>(r.missed),
      r.sender_cpu_s * 1e9 / static_cast<double>(r.sent),
      r.receiver_cpu_s * 1e9 / static_cast<double>(std::max<std::uint64_t>(1, r.handled)));
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  itch::GeneratorOptions recording;
  recording.messages = bench::option(argc, argv, "--messages", quick ? 50'000 : 4'000'000);
  recording.symbols =
      static_cast<std::uint32_t>(bench::option(argc, argv, "--symbols", quick ? 50 : 1'000));
  bench::print_environment("sim's replay as fast as it can, through UDP, into mdh's books");
  const Result real = drive_mdh(recording, bench::option(argc, argv, "--rate", 0));
  const double each = static_cast<double>(real.sent) / static_cast<double>(real.packets);
  const Result floor = drive_floor(real.packets, itch::mold::kMaxPacketBytes, each);
  print(real);
  print(floor);
  std::printf("%-34s %.2f x (full packets, nothing decoded, nothing built)\n", "floor / sim to mdh",
              floor.per_second() / real.per_second());
  std::printf("%-34s %.2f million messages/s (bar %.0f million): %s\n", "sim to mdh",
              real.per_second() / 1e6, kBarPerSecond / 1e6,
              real.per_second() >= kBarPerSecond ? "met" : "NOT met");
  const bool accounted = real.sent == real.handled + real.missed;
  std::printf("%-34s %s\n", "sent = handled + missed", accounted ? "holds" : "DOES NOT HOLD");
  return accounted ? 0 : 1;
}

}  // namespace
}  // namespace tickpath

int main(int argc, char** argv) { return tickpath::bench::run_main(tickpath::run, argc, argv); }
