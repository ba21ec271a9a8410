// Update ring and message channel between two processes, one on each core, 64-byte messages, busy
// polling: one-way latency (half a round trip) beside a bare cache line that two processes toss,
// which is the floor for anything between two cores. Then what publishing costs its writer.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <thread>

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"
#include "common/link/link.hpp"
#include "common/rdma/rdma.hpp"
#include "tests/bench/report.hpp"
#include "tests/support/connect.hpp"

namespace {

using namespace tickpath;
using namespace tickpath::link;

struct Update {
  std::uint64_t number;
  std::uint64_t fill[6];
};
struct Message {
  std::uint64_t number;
  std::uint64_t fill[7];
};
struct Image {  // as large as a ten-level book
  std::uint64_t ring_sequence;
  std::uint64_t fill[34];
};

constexpr std::uint64_t kEnd = ~std::uint64_t{0};  // ends a phase

// What both processes map: the line that they toss, on a page of its own.
struct Shared {
  alignas(4096) std::atomic<std::uint64_t> line;
};

struct UpdateLog {
  void on_update(const Update& update, std::uint64_t) noexcept { number = update.number; }
  std::uint64_t number = 0;
};
struct MessageLog {
  void on_message(const Message& message) noexcept { number = message.number; }
  void on_message(ClientId from, std::uint64_t, const Message& message) noexcept {
    client = from;
    number = message.number;
  }
  void on_link(LinkEvent) noexcept {}
  void on_client(ClientId from, std::uint64_t, LinkEvent) noexcept { client = from; }
  ClientId client;
  std::uint64_t number = 0;
};

// The two places that a process pair uses; on one core they take turns.
void take_core(std::size_t index) {
  const std::vector<int> cpus = allowed_cpus();
  pin_this_thread(cpus[index % cpus.size()]);
}

void wait_turn() noexcept {
  static const bool shared = allowed_cpus().size() < 2;
  if (shared)
    ::sched_yield();
  else
    cpu_relax();
}

std::unique_ptr<rdma::ConnectionRequest> next_request(rdma::Listener& listener) {
  for (;;) {
    if (auto request = listener.next()) return request;
    pollfd waiting{listener.file_descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, 100);
  }
}

// One end of everything that is measured: process 0 measures, process 1 answers.
class End {
 public:
  End(int process, const std::string& base, Shared& shared)
      : process_(process), shared_(shared), device_(rdma::open_device("shm", "")) {
    const std::string own = base + "." + std::to_string(process);
    const std::string other = base + "." + std::to_string(1 - process);
    const std::unique_ptr<rdma::Listener> listener = device_->listen(own);
    publisher_ = std::make_unique<Publisher<Update>>(*device_, nullptr, PublisherOptions{});
    subscriber_ = std::make_unique<Subscriber<Update>>(*device_, nullptr, SubscriberOptions{});
    std::thread connecting([&] {
      connect_when_there([&] { connect_now(*subscriber_, other, {}); });
      if (process_ == 0) connect_when_there([&] { connect_now(client_, other, {}); });
    });
    accept_now(*publisher_, *next_request(*listener), {}, {});
    if (process_ == 1) accept_now(server_, *next_request(*listener), {}, {}, 0);
    connecting.join();
    publisher_->turn();
    UpdateLog log;
    MessageLog messages;
    while (subscriber_->state() != SubscriberState::kLive) {
      publisher_->turn();
      subscriber_->poll(log);
    }
    if (process_ == 0)
      while (!client_.up()) client_.poll(messages);
  }

  // Sends `number` and returns once the same number came back.
  void toss_line(std::uint64_t number) noexcept {
    shared_.line.store(2 * number + 1, std::memory_order_release);
    while (shared_.line.load(std::memory_order_acquire) != 2 * number + 2) wait_turn();
  }
  void toss_ring(std::uint64_t number) noexcept {
    UpdateLog log;
    publisher_->publish({number, {}});
    while (log.number != number)
      if (subscriber_->poll(log, 1) == 0) wait_turn();
  }
  void toss_channel(std::uint64_t number) noexcept {
    MessageLog log;
    TICKPATH_CHECK(client_.send({number, {}}) == SendStatus::kOk, "credits return with answers");
    while (log.number != number)
      if (client_.poll(log, 1) == 0) wait_turn();
  }

  void answer_line(std::uint64_t count) noexcept {
    for (std::uint64_t number = 1; number <= count; ++number) {
      while (shared_.line.load(std::memory_order_acquire) != 2 * number + 1) wait_turn();
      shared_.line.store(2 * number + 2, std::memory_order_release);
    }
  }
  void answer_ring() noexcept {
    for (UpdateLog log; log.number != kEnd;) {
      if (subscriber_->poll(log, 1) != 0)
        publisher_->publish({log.number, {}});
      else
        wait_turn();
    }
  }
  void answer_channel() noexcept {
    for (MessageLog log; log.number != kEnd;) {
      if (server_.poll(log, 1) != 0)
        TICKPATH_CHECK(server_.send(log.client, {log.number, {}}) == SendStatus::kOk, "credits");
      else
        wait_turn();
    }
  }

 private:
  int process_;
  Shared& shared_;
  std::unique_ptr<rdma::Device> device_;
  std::unique_ptr<Publisher<Update>> publisher_;
  std::unique_ptr<Subscriber<Update>> subscriber_;
  ChannelClient<Message, Message> client_{*device_, nullptr, {}};
  ChannelServer<Message, Message> server_{*device_, nullptr, {}};
};

template <class Toss>
double measure(const char* label, std::uint64_t count, Toss&& toss) {
  bench::Samples samples(count);
  for (std::uint64_t number = 1; number <= count; ++number) {
    const TscTicks start = tsc_now();
    toss(number);
    samples.add((tsc_now() - start).value / 2);
  }
  samples.print(label);
  return samples.median_ns();
}

void latency(std::uint64_t count, int rounds) {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TICKPATH_CHECK(memory != MAP_FAILED, "a page that two processes share");
  auto* const shared = new (memory) Shared{};
  const std::string base =
      std::filesystem::temp_directory_path() / ("tickpath_bench_link" + std::to_string(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) {
    take_core(1);
    End end(1, base, *shared);
    for (int round = 0; round < rounds; ++round) {
      end.answer_line(count);
      end.answer_ring();
      end.answer_channel();
    }
    ::_exit(0);
  }
  take_core(0);
  End end(0, base, *shared);
  // The machine may be shared: the best of several rounds is nearest to what the code costs.
  double line = 1e9;
  double ring = 1e9;
  double channel = 1e9;
  for (int round = 0; round < rounds; ++round) {
    line = std::min(line, measure("bare line, one way", count,
                                  [&](std::uint64_t number) { end.toss_line(number); }));
    ring = std::min(ring, measure("update ring, one way", count,
                                  [&](std::uint64_t number) { end.toss_ring(number); }));
    end.toss_ring(kEnd);
    channel = std::min(channel, measure("channel, one way", count,
                                        [&](std::uint64_t number) { end.toss_channel(number); }));
    end.toss_channel(kEnd);
    shared->line.store(0);
  }
  ::waitpid(child, nullptr, 0);
  bench::print_ratio("update ring / bare line", ring / line, 1.25);
  bench::print_ratio("channel / bare line", channel / line, 1.6);
}

// The writer's cost while nobody reads: no line travels, so it is the instructions alone.
void publishing(std::size_t groups) {
  take_core(0);
  const std::unique_ptr<rdma::Device> device = rdma::open_device("shm", "");
  const std::string endpoint =
      std::filesystem::temp_directory_path() / ("tickpath_bench_pub" + std::to_string(::getpid()));
  constexpr std::uint32_t kImages = 64;
  for (const std::size_t subscribers : {std::size_t{1}, std::size_t{4}}) {
    const std::unique_ptr<rdma::Listener> listener = device->listen(endpoint);
    Publisher<Update, Image> publisher(*device, nullptr, {.image_count = kImages});
    std::vector<std::unique_ptr<Subscriber<Update, Image>>> all;
    for (std::size_t i = 0; i < subscribers; ++i) {
      all.push_back(std::make_unique<Subscriber<Update, Image>>(
          *device, nullptr, SubscriberOptions{.depth = 4096, .image_count = kImages}));
      std::thread connecting([&] { connect_now(*all.back(), endpoint, {}); });
      accept_now(publisher, *next_request(*listener), {}, {});
      connecting.join();
    }
    publisher.turn();
    constexpr std::uint64_t kGroup = 16;
    bench::Samples publish(groups);
    bench::Samples flush(groups);
    for (int pass = 0; pass < 2; ++pass) {
      publish.clear();
      flush.clear();
      for (std::size_t group = 0; group < groups; ++group) {
        TscTicks start = tsc_now();
        for (std::uint64_t i = 0; i < kGroup; ++i) publisher.publish({i, {}});
        publish.add((tsc_now() - start).value / kGroup);
        for (std::uint32_t i = 0; i < kGroup; ++i) publisher.mark_dirty(i);
        start = tsc_now();
        publisher.flush([](std::uint32_t, Image& image) { ++image.fill[0]; });
        flush.add((tsc_now() - start).value / kGroup);
        publisher.turn();
      }
    }
    const std::string to = " to " + std::to_string(subscribers) + " subscriber(s)";
    publish.print("publish" + to, "mean of 16");
    flush.print("image, 280 bytes" + to, "mean of 16, watermark included");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  bench::print_environment("link: ring and channel between two processes, shm provider, spinning");
  latency(quick ? 200 : 200'000, quick ? 1 : 5);
  publishing(quick ? 100 : 20'000);
  return 0;
}
