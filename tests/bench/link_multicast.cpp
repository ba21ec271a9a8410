// What an update costs its publisher by WRITE and by multicast, for 1, 2, 4 and 8 subscribers, and
// whether a stopped subscriber changes what the others see of it.
//
//   bench/link_multicast [--quick] [--groups N] [--rounds N] [--updates N, 0: costs alone]
//       [--real-time 1] [--publish HOST:PORT | --subscribe HOST:PORT]
//
// With --publish the costs alone, and the subscribers are on another host: there the same with
// --subscribe, and otherwise the same options.
// On the provider that the environment tells (tests/support/provider.hpp).
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/link/link.hpp"
#include "tests/bench/report.hpp"
#include "tests/support/child.hpp"
#include "tests/support/connect.hpp"
#include "tests/support/provider.hpp"

namespace {

using namespace tickpath;
using namespace tickpath::link;
using test_support::Child;

struct Update {
  std::uint64_t sent_tsc;  // 0: nothing to be measured
  std::uint64_t fill[6];
};
struct Image {  // as large as a ten-level book
  std::uint64_t ring_sequence;
  std::uint64_t fill[34];
};
using BookPublisher = Publisher<Update, Image>;
using BookSubscriber = Subscriber<Update, Image>;

constexpr std::uint32_t kImages = 64;
// On a busy machine: above all ordinary threads, for as long as latency is measured.
bool real_time = false;
constexpr std::array<std::size_t, 4> kSubscribers{1, 2, 4, 8};

struct Nothing {
  void on_update(const Update&, std::uint64_t) noexcept {}
};

std::string group() {
  static int number = 0;
  ++number;
  if (test_support::over_network()) return "239.255.99." + std::to_string(number);
  return std::filesystem::temp_directory_path() /
         ("tickpath_bench_group" + std::to_string(::getpid()) + "_" + std::to_string(number));
}

PublisherOptions publisher_options(bool multicast) {
  PublisherOptions options{.image_count = kImages};
  if (multicast) options.multicast.group = group();
  return options;
}

std::unique_ptr<rdma::ConnectionRequest> next_request(rdma::Listener& listener) {
  for (;;) {
    if (auto request = listener.next()) return request;
    pollfd waiting{listener.file_descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, 100);
  }
}

void place_on(std::size_t index) {
  // The CPUs at the beginning: a child is pinned to its parent's, and sees no other.
  static const std::vector<int> cpus = allowed_cpus();
  pin_this_thread(cpus[index % cpus.size()]);
}

// One end of a pipe is written to by one process, the other is read by another: "go on".
class Gate {
 public:
  Gate() { TICKPATH_CHECK(::pipe(ends_) == 0, "two descriptors"); }
  ~Gate() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void wait() const {
    char go = 0;
    TICKPATH_CHECK(::read(ends_[0], &go, 1) == 1, "a byte that says go");
  }
  void open() const { TICKPATH_CHECK(::write(ends_[1], "g", 1) == 1, "room for a byte"); }

 private:
  int ends_[2]{};
};

// `count` subscribers in a process of their own, on the other core, which read until the close.
class Readers {
 public:
  Readers(const std::string& endpoint, std::size_t count, bool by_multicast)
      : child_([&, this] {
          place_on(1);
          gate_.wait();
          return read_all(endpoint, count, by_multicast);
        }) {}
  void go() const { gate_.open(); }
  int wait() { return child_.wait(); }

  static int read_all(const std::string& endpoint, std::size_t count, bool by_multicast) {
    const std::unique_ptr<rdma::Device> device = test_support::open_test_device();
    std::vector<std::unique_ptr<BookSubscriber>> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(std::make_unique<BookSubscriber>(
          *device, nullptr, SubscriberOptions{.depth = 1u << 14, .image_count = kImages}));
      connect_when_there([&] { connect_now(*all.back(), endpoint, {}, {}, 20'000); });
    }
    if (real_time) TICKPATH_CHECK(set_real_time(true), "root, or the right to it");
    Nothing nothing;
    std::size_t joined = 0;
    for (bool ended = false; !ended;) {
      ended = true;
      std::size_t live = 0;
      for (const auto& subscriber : all) {
        subscriber->poll(nothing, 256);
        live += subscriber->state() == SubscriberState::kLive;
        ended &= subscriber->state() == SubscriberState::kDown;
      }
      joined = std::max(joined, live);
      ended &= joined == count;
      ::sched_yield();
    }
    for (const auto& subscriber : all)
      if ((subscriber->counters().by_multicast.get() == 1) != by_multicast) return 1;
    return 0;
  }

 private:
  Gate gate_;
  Child child_;
};

void turn_for(BookPublisher& publisher, int milliseconds) {
  for (int i = 0; i < milliseconds; ++i) {
    publisher.flush([](std::uint32_t, Image&) noexcept {});
    publisher.turn();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

enum class Way : std::uint8_t { kWrite, kAlone, kPacked };
constexpr std::array<const char*, 3> kWays{"by WRITE", "by multicast, each alone",
                                           "by multicast, 16 together"};

// Median cost of one update, and of one image, ns.
struct Cost {
  double update;
  double image;
};

// Where the `number`th publisher listens, of those that begin at `first`.
std::string endpoint_of(const std::string& first, int number) {
  const std::size_t colon = first.rfind(':');
  return first.substr(0, colon + 1) + std::to_string(std::stoi(first.substr(colon + 1)) + number);
}

// where: where to listen for subscribers of another host; empty: they are here.
Cost cost(Way way, std::size_t subscribers, std::size_t groups, const std::string& where) {
  constexpr std::uint64_t kGroup = 16;
  const std::string endpoint = where.empty() ? test_support::fresh_endpoint() : where;
  std::fflush(stdout);  // what is not written yet would be written by the child as well
  std::optional<Readers> readers;
  if (where.empty()) readers.emplace(endpoint, subscribers, way != Way::kWrite);
  const std::unique_ptr<rdma::Device> device = test_support::open_test_device();
  const std::unique_ptr<rdma::Listener> listener = device->listen(endpoint);
  BookPublisher publisher(*device, nullptr, publisher_options(way != Way::kWrite));
  if (readers) readers->go();
  for (std::size_t i = 0; i < subscribers; ++i)
    accept_now(publisher, *next_request(*listener), {}, {});
  turn_for(publisher, 100);
  bench::Samples updates(groups);
  bench::Samples images(groups);
  const std::uint64_t pause = clock::TickConverter().from_ns(20'000).value;
  if (real_time) TICKPATH_CHECK(set_real_time(true), "root, or the right to it");
  for (std::size_t group = 0; group < groups; ++group) {
    TscTicks start = tsc_now();
    for (std::uint64_t i = 0; i < kGroup; ++i) {
      publisher.publish({});
      if (way == Way::kAlone) publisher.turn();
    }
    publisher.turn();
    updates.add((tsc_now() - start).value / kGroup);
    for (std::uint32_t i = 0; i < kGroup; ++i) publisher.mark_dirty(i);
    start = tsc_now();
    publisher.flush([](std::uint32_t, Image& image) noexcept { ++image.fill[0]; });
    images.add((tsc_now() - start).value / kGroup);
    while ((tsc_now() - start).value < pause) publisher.turn();
  }
  publisher.close();
  while (!publisher.closed()) publisher.turn();
  if (real_time) (void)set_real_time(false);
  TICKPATH_CHECK(!readers || readers->wait() == 0, "updates came as they were to come");
  return {updates.median_ns(), images.median_ns()};
}

// first: of endpoint_of(), or empty.
void costs(std::size_t groups, int rounds, const std::string& first) {
  std::printf("\nwhat an update and an image (280 bytes) cost their publisher, ns, p50 of %zu\n",
              groups);
  std::printf("%-26s%36s %36s\n", "subscribers", "an update: 1, 2, 4, 8", "an image: 1, 2, 4, 8");
  int number = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const Way way : {Way::kWrite, Way::kAlone, Way::kPacked}) {
      std::array<Cost, 4> all{};
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = cost(way, kSubscribers[i], groups,
                      first.empty() ? first : endpoint_of(first, number++));
      std::printf("%-26s%9.1f%9.1f%9.1f%9.1f %9.1f%9.1f%9.1f%9.1f\n",
                  kWays[static_cast<std::size_t>(way)], all[0].update, all[1].update, all[2].update,
                  all[3].update, all[0].image, all[1].image, all[2].image, all[3].image);
      if (way == Way::kWrite) {
        bench::print_ratio("  8 beside 1", all[3].update / all[0].update);
      } else {
        bench::print_ratio("  8 beside 1, updates", all[3].update / all[0].update, 1.1);
        bench::print_ratio("  8 beside 1, images", all[3].image / all[0].image, 1.1);
      }
    }
  }
}

// The subscribers of costs() on another host.
void subscribe(const std::string& first, int rounds) {
  place_on(1);
  int number = 0;
  for (int round = 0; round < rounds; ++round)
    for (const Way way : {Way::kWrite, Way::kAlone, Way::kPacked})
      for (const std::size_t count : kSubscribers)
        TICKPATH_CHECK(
            Readers::read_all(endpoint_of(first, number++), count, way != Way::kWrite) == 0,
            "updates came as they were to come");
}

// ---------------------------------------------------------------------------- a stopped subscriber

struct Latency {
  explicit Latency(std::size_t capacity) : samples(capacity) {}
  void on_update(const Update& update, std::uint64_t) noexcept {
    if (update.sent_tsc != 0) samples.add((tsc_now() - TscTicks{update.sent_tsc}).value);
  }
  bench::Samples samples;
};

// A subscriber in a process of its own, which connects when it is told to, and prints its latencies
// at the publisher's close where it has a label.
class Reader {
 public:
  Reader(const std::string& endpoint, std::size_t updates, const std::string& label)
      : child_([&, this] {
          gate_.wait();
          return read_all(endpoint, updates, label);
        }) {}
  void go() const { gate_.open(); }
  void stop() const { child_.signal(SIGSTOP); }
  int wait() { return child_.wait(); }

 private:
  static int read_all(const std::string& endpoint, std::size_t updates, const std::string& label) {
    place_on(1);
    const std::unique_ptr<rdma::Device> device = test_support::open_test_device();
    BookSubscriber subscriber(*device, nullptr, {.depth = 1u << 16, .image_count = kImages});
    connect_when_there([&] { connect_now(subscriber, endpoint, {}, {}, 20'000); });
    Latency latency(updates);
    if (real_time && !label.empty())
      TICKPATH_CHECK(set_real_time(true), "root, or the right to it");
    bool joined = false;
    while (!joined || subscriber.state() != SubscriberState::kDown) {
      joined |= subscriber.state() == SubscriberState::kLive;
      if (subscriber.poll(latency) == 0) cpu_relax();
    }
    if (label.empty()) return 0;
    latency.samples.print(label);
    std::printf("  seen %lu, overrun %lu, recovered by READ %lu\n",
                static_cast<unsigned long>(subscriber.counters().seen.get()),
                static_cast<unsigned long>(subscriber.counters().overrun.get()),
                static_cast<unsigned long>(subscriber.counters().multicast.recovered.get()));
    return 0;
  }

  Gate gate_;
  Child child_;
};

// One that reads on a core of its own, and `stopped` others that had joined before. Update by
// update, 20 us apart.
void with_stopped(bool multicast, std::size_t stopped, std::size_t updates) {
  const std::string endpoint = test_support::fresh_endpoint();
  std::fflush(stdout);
  std::vector<std::unique_ptr<Reader>> readers;
  for (std::size_t i = 0; i <= stopped; ++i)
    readers.push_back(std::make_unique<Reader>(
        endpoint, updates,
        i < stopped ? std::string()
                    : std::string(multicast ? "by multicast, " : "by WRITE, ") +
                          std::to_string(stopped) + " stopped beside it"));
  place_on(0);
  const std::unique_ptr<rdma::Device> device = test_support::open_test_device();
  const std::unique_ptr<rdma::Listener> listener = device->listen(endpoint);
  BookPublisher publisher(*device, nullptr, publisher_options(multicast));
  for (std::size_t i = 0; i <= stopped; ++i) {
    readers[i]->go();
    accept_now(publisher, *next_request(*listener), {}, {});
    turn_for(publisher, 200);
    if (i < stopped) readers[i]->stop();
  }
  const std::uint64_t pause = clock::TickConverter().from_ns(20'000).value;
  if (real_time) TICKPATH_CHECK(set_real_time(true), "root, or the right to it");
  for (std::size_t update = 0; update < updates; ++update) {
    const std::uint64_t due = tsc_now().value + pause;
    while (tsc_now().value < due) publisher.turn();
    publisher.publish({tsc_now().value, {}});
    publisher.turn();
  }
  publisher.close();
  while (!publisher.closed()) publisher.turn();
  if (real_time) (void)set_real_time(false);
  (void)readers.back()->wait();
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  const std::size_t groups = bench::option(argc, argv, "--groups", quick ? 20 : 5'000);
  const std::size_t updates = bench::option(argc, argv, "--updates", quick ? 200 : 100'000);
  const int rounds = static_cast<int>(bench::option(argc, argv, "--rounds", quick ? 1 : 3));
  const std::string publish_at = bench::text_option(argc, argv, "--publish");
  if (const std::string from = bench::text_option(argc, argv, "--subscribe"); !from.empty()) {
    subscribe(from, rounds);
    return 0;
  }
  bench::print_environment("link: multicast beside WRITEs, provider " +
                           test_support::provider_name());
  std::fflush(stdout);
  // In a child: a process that is to fork has no device.
  Child asked([] { return test_support::open_test_device()->info().multicast ? 0 : 1; });
  if (asked.wait() != 0) {
    std::printf("the device has no multicast: nothing to be measured\n");
    return 0;
  }
  place_on(0);
  real_time = bench::option(argc, argv, "--real-time", 0) != 0;
  if (groups != 0) costs(groups, rounds, publish_at);
  if (updates == 0 || !publish_at.empty()) return 0;
  std::printf("\none way, update by update, a reader on a core of its own\n");
  for (const bool multicast : {false, true})
    for (const std::size_t stopped : {std::size_t{0}, std::size_t{1}, std::size_t{3}})
      with_stopped(multicast, stopped, updates);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return tickpath::bench::run_main(run, argc, argv); }
