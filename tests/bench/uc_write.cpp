// What unreliable connections (UC) would give a ring of updates, beside reliable ones (RC): WRITEs
// of a slot of 64 bytes whose last word is polled.
//
//   uc_write [--device mlx5_0] [--device-port 1] [--messages 20000] [--pace-us 200] [--timeout 10]
//            [--json] [--quick]
//     both ends here, by the adapter
//   uc_write --listen 18520 [--forever] [--device mlx5_0] [--device-port 1]
//     the reader's host
//   uc_write --peer 10.77.0.2 --port 18520 [...]
//     the writer's host
//
// Three figures of each: half a round trip; a message's cost where they go as fast as they can, in
// time, CPU and packets; and, one message every --pace-us, how many are lost and how late they come
// beside the one that came earliest. A lost packet is a hole on UC; on RC all behind it wait until
// it was sent again.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tests/bench/report.hpp"
#include "tests/bench/uc_pair.hpp"

namespace tickpath::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// A ping that does not come back within this was lost: no adapter takes as long, and an emulated
// one seldom.
constexpr milliseconds kPingPatience{50};
// The reader tells again what it has seen after this much silence: on UC that, too, may have been
// lost.
constexpr milliseconds kRemind{5};
constexpr milliseconds kEnd{500};  // of silence after the writer's last message: no more will come

struct Options {
  std::string device, peer;
  std::uint16_t port = 18520;  // of the stream between the two ends
  std::uint8_t device_port = 1;
  bool listens = false, forever = false, json = false;
  std::uint64_t messages = 20'000, pings = 2'000, pace_us = 200;
  std::uint64_t timeout = 10;  // of RC, as the verbs provider: 4.19 ms until a packet is sent again
};

// Sequence numbers of the pings and of each ring begin at a number of their own: what is late, or
// left from before, is not taken for something new.
constexpr std::uint64_t kRingFirst[2] = {std::uint64_t{1} << 40, std::uint64_t{2} << 40};

// What the writer asks for; 0 messages: the end.
struct Round {
  std::uint64_t type = 0;  // ibv_qp_type
  std::uint64_t messages = 0, pings = 0;
  std::uint64_t pace_us = 0;  // of the second ring
  std::uint64_t timeout = 0;
};
struct ReaderResult {
  std::uint64_t lost = 0;
  double late_us_p50 = 0, late_us_p99 = 0,
         late_us_max = 0;  // behind the schedule of the one that was least
};
struct Row {
  const char* type;
  std::uint64_t messages = 0, lost_pings = 0;
  double half_round_trip_us = 0, message_us = 0, message_cpu_us = 0, packets = -1;
  ReaderResult fast, paced;
};

// ------------------------------------------------------------------------------------ the stream

class Stream {
 public:
  explicit Stream(int fd) : fd_(fd) {
    if (fd < 0) throw Error(std::string("no connection to the other end: ") + std::strerror(errno));
  }
  ~Stream() { ::close(fd_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  template <class T>
  void send(const T& value) {
    if (::send(fd_, &value, sizeof(value), MSG_NOSIGNAL) != ssize_t{sizeof(value)})
      throw Error("the other end is gone");
  }
  template <class T>
  T receive() {
    T value;
    if (::recv(fd_, &value, sizeof(value), MSG_WAITALL) != ssize_t{sizeof(value)})
      throw Error("the other end is gone");
    return value;
  }
  bool readable() const {
    pollfd entry{fd_, POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
  }

 private:
  int fd_;
};

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (!host.empty() && ::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    throw Error(host + " is no IPv4 address");
  return address;
}

// The other end may be a moment behind.
int connected(const Options& options) {
  const sockaddr_in address = address_of(options.peer, options.port);
  for (int attempt = 0;; ++attempt) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
    if (attempt == 100) return -1;
    ::close(fd);
    std::this_thread::sleep_for(milliseconds(100));
  }
}

class Listener {
 public:
  explicit Listener(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = address_of({}, port);
    const int yes = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(fd_, 1) != 0)
      throw Error("cannot listen at port " + std::to_string(port) + ": " + std::strerror(errno));
    std::printf("listening\n");
    std::fflush(stdout);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int accept() const { return ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }

 private:
  int fd_;
};

// ------------------------------------------------------------------------------------ the reader

void answer_pings(UcPair& pair, Stream& stream) {
  std::uint64_t answered = 0;
  while (!stream.readable()) {
    const std::uint64_t seen = pair.sequence(0);
    if (seen == answered) continue;
    answered = seen;
    pair.write({{}, seen}, 0);
  }
  (void)stream.receive<std::uint64_t>();
}

// One of the next `ahead` messages from `next` on is there. They come in order.
bool later_is_here(const UcPair& pair, std::uint64_t next, std::uint64_t ahead) {
  for (std::uint64_t i = next; i < next + ahead; ++i)
    if (pair.sequence(i % UcPair::kSlots) == i) return true;
  return false;
}

// When each message came, against the schedule of one every pace_us.
class Arrivals {
 public:
  Arrivals(std::uint64_t messages, std::uint64_t pace_us) : pace_us_(pace_us) {
    late_.reserve(messages);
  }
  void add(Clock::time_point now, std::uint64_t number) {
    late_.push_back(std::chrono::duration<double, std::micro>(now - begun_).count() -
                    static_cast<double>(number * pace_us_));
  }
  void summarise(ReaderResult& result) {
    if (late_.empty()) return;
    std::sort(late_.begin(), late_.end());
    const auto at = [this](double share) {
      return late_[static_cast<std::size_t>(share * static_cast<double>(late_.size() - 1))] -
             late_.front();
    };
    result.late_us_p50 = at(0.5);
    result.late_us_p99 = at(0.99);
    result.late_us_max = at(1);
  }

 private:
  std::uint64_t pace_us_;
  Clock::time_point begun_ = Clock::now();
  std::vector<double> late_;
};

// Until all have come, or nothing comes any more. Tells the writer how far it is.
ReaderResult read_ring(UcPair& pair, Stream& stream, std::uint64_t first, const Round& round) {
  ReaderResult result;
  Arrivals arrivals(round.messages, round.pace_us);
  const std::uint64_t end = first + round.messages;
  std::uint64_t next = first, told = first;
  Clock::time_point last = Clock::now(), reminded = last;
  const auto tell = [&] {
    pair.write({{}, next}, UcPair::kCreditAt);
    told = next;
    reminded = Clock::now();
  };
  while (next < end) {
    const bool here = pair.sequence(next % UcPair::kSlots) == next;
    const Clock::time_point now = Clock::now();
    if (here) {
      arrivals.add(now, next++ - first);
      last = now;
      if (next - told >= UcPair::kSlots / 4) tell();
      continue;
    }
    const bool later = later_is_here(pair, next + 1, now - last > kRemind ? UcPair::kSlots - 1 : 2);
    pair.look();
    // What is behind it is there, and it is not (looked at again): it will not come.
    if (later && pair.sequence(next % UcPair::kSlots) != next) {
      ++result.lost;
      ++next;
    } else if (now - reminded > kRemind) {
      tell();
    }
    if (now - last > kEnd && stream.readable()) break;
  }
  result.lost += end - next;
  (void)stream.receive<std::uint64_t>();  // the writer's "that was all"
  arrivals.summarise(result);
  return result;
}

int run_reader(const Options& options, Stream& stream) {
  const UcOwned<ibv_context> context = uc_open(options.device);
  if (context == nullptr) throw Error("no RDMA device");
  for (Round round = stream.receive<Round>(); round.messages != 0;
       round = stream.receive<Round>()) {
    UcPair pair({context.get(), options.device_port}, static_cast<ibv_qp_type>(round.type),
                static_cast<std::uint8_t>(round.timeout));
    const auto peer = stream.receive<UcInfo>();
    stream.send(pair.info());
    if (peer.made == 0 || pair.info().made == 0) continue;
    pair.connect(peer);
    stream.send(std::uint64_t{1});
    (void)stream.receive<std::uint64_t>();
    answer_pings(pair, stream);
    for (const std::uint64_t first : kRingFirst) stream.send(read_ring(pair, stream, first, round));
  }
  return 0;
}

// ------------------------------------------------------------------------------------ the writer

// Packets that the port sent and received. nullopt: it does not count them where rxe and mlx5 do.
std::optional<double> packets(const UcPort& port) {
  const std::string folder = std::string("/sys/class/infiniband/") +
                             ::ibv_get_device_name(port.context->device) + "/ports/" +
                             std::to_string(port.number) + "/";
  double total = 0;
  for (const char* const names : {"hw_counters/sent_pkts|counters/port_xmit_packets",
                                  "hw_counters/rcvd_pkts|counters/port_rcv_packets"}) {
    const std::string both = names;
    const std::size_t bar = both.find('|');
    double value = 0;
    std::ifstream soft(folder + both.substr(0, bar)), hard(folder + both.substr(bar + 1));
    if (!(soft >> value) && !(hard >> value)) return std::nullopt;
    total += value;
  }
  return total;
}

double cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void ping(UcPair& pair, std::uint64_t pings, Row& row) {
  std::vector<double> times;
  for (std::uint64_t i = 1; i <= pings; ++i) {
    const Clock::time_point begun = Clock::now();
    Clock::time_point sent = begun;
    pair.write({{}, i}, 0);
    while (pair.sequence(0) != i) {
      if (Clock::now() - sent < kPingPatience) continue;
      // The last word must change for the reader to answer again: this one is given up.
      ++row.lost_pings;
      break;
    }
    if (pair.sequence(0) == i)
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count() / 2);
  }
  if (times.empty()) throw Error("no ping came back");
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  row.half_round_trip_us = times[times.size() / 2];
}

// `messages` slots, one every pace_us (0: as fast as they go), never more than a ring ahead of the
// reader.
void write_ring(UcPair& pair, const Stream& stream, std::uint64_t first, std::uint64_t messages,
                std::uint64_t pace_us) {
  const Clock::time_point begun = Clock::now();
  for (std::uint64_t i = first; i < first + messages; ++i) {
    while (i >= std::max(pair.sequence(UcPair::kCreditAt), first) + UcPair::kSlots) {
      pair.look();
      if (stream.readable()) throw Error("the reader ended before its time");
    }
    while (pace_us != 0 && Clock::now() < begun + microseconds((i - first) * pace_us)) continue;
    pair.write({{}, i}, i % UcPair::kSlots);
  }
}

ReaderResult ring_round(UcPair& pair, Stream& stream, std::uint64_t first, std::uint64_t messages,
                        std::uint64_t pace_us) {
  write_ring(pair, stream, first, messages, pace_us);
  stream.send(std::uint64_t{1});
  return stream.receive<ReaderResult>();
}

std::optional<Row> measure(const ibv_qp_type type, const Options& options, const UcPort& port,
                           Stream& stream) {
  Row row{};
  row.type = type == IBV_QPT_UC ? "UC" : "RC";
  row.messages = options.messages;
  stream.send(Round{static_cast<std::uint64_t>(type), options.messages, options.pings,
                    options.pace_us, options.timeout});
  UcPair pair(port, type, static_cast<std::uint8_t>(options.timeout));
  stream.send(pair.info());
  const auto peer = stream.receive<UcInfo>();
  if (peer.made == 0 || pair.info().made == 0) {
    std::printf("no %s queue pairs here: %s\n", row.type, pair.error().c_str());
    return std::nullopt;
  }
  pair.connect(peer);
  (void)stream.receive<std::uint64_t>();
  stream.send(std::uint64_t{1});
  ping(pair, options.pings, row);
  stream.send(std::uint64_t{1});
  const auto packets_before = packets(port);
  const double cpu_before = cpu_us();
  const Clock::time_point begun = Clock::now();
  row.fast = ring_round(pair, stream, kRingFirst[0], options.messages, 0);
  const auto count = static_cast<double>(options.messages);
  row.message_us = std::chrono::duration<double, std::micro>(Clock::now() - begun).count() / count;
  row.message_cpu_us = (cpu_us() - cpu_before) / count;
  if (const auto after = packets(port); after && packets_before)
    row.packets = (*after - *packets_before) / count;
  row.paced = ring_round(pair, stream, kRingFirst[1], options.messages, options.pace_us);
  return row;
}

void print_rows(const std::vector<Row>& rows, const Options& options) {
  std::printf("as fast as they go: time, CPU and packets a message; one every %" PRIu64
              " us: microseconds late\n",
              options.pace_us);
  std::printf("%-5s %9s %13s %11s %9s %9s %6s %10s %10s %10s %6s\n", "type", "messages",
              "half trip us", "message us", "CPU us", "packets", "lost", "late p50", "p99", "max",
              "lost");
  for (const Row& row : rows)
    std::printf("%-5s %9" PRIu64 " %13.2f %11.3f %9.3f %9.2f %6" PRIu64
                " %10.1f %10.1f %10.1f %6" PRIu64 "\n",
                row.type, row.messages, row.half_round_trip_us, row.message_us, row.message_cpu_us,
                row.packets, row.fast.lost, row.paced.late_us_p50, row.paced.late_us_p99,
                row.paced.late_us_max, row.paced.lost);
}

void print_json(const std::vector<Row>& rows, const Options& options) {
  std::printf("{\"pace_us\": %" PRIu64 ", \"rows\": [", options.pace_us);
  for (const Row& row : rows) {
    std::printf("%s{\"type\": \"%s\", \"messages\": %" PRIu64
                ", \"half_round_trip_us\": %.3f, \"message_us\": %.4f, \"message_cpu_us\": %.4f, "
                "\"packets_a_message\": %.3f, \"lost_pings\": %" PRIu64 ", \"lost\": %" PRIu64 ", ",
                &row == rows.data() ? "" : ", ", row.type, row.messages, row.half_round_trip_us,
                row.message_us, row.message_cpu_us, row.packets, row.lost_pings, row.fast.lost);
    std::printf("\"paced\": {\"lost\": %" PRIu64
                ", \"late_us_p50\": %.1f, \"late_us_p99\": %.1f, \"late_us_max\": "
                "%.1f}}",
                row.paced.lost, row.paced.late_us_p50, row.paced.late_us_p99,
                row.paced.late_us_max);
  }
  std::printf("]}\n");
}

int run_writer(const Options& options, Stream& stream) {
  const UcOwned<ibv_context> context = uc_open(options.device);
  if (context == nullptr) throw Error("no RDMA device");
  std::vector<Row> rows;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC})
    if (const auto row = measure(type, options, {context.get(), options.device_port}, stream))
      rows.push_back(*row);
  stream.send(Round{});
  (options.json ? print_json : print_rows)(rows, options);
  return rows.empty() ? 1 : 0;
}

// One writer after the other, or one. A writer that gives up in the middle ends its own run only.
int run_readers(const Options& options) {
  const Listener listener(options.port);
  if (!options.forever) {
    Stream stream(listener.accept());
    return run_reader(options, stream);
  }
  for (;;) {
    try {
      Stream stream(listener.accept());
      run_reader(options, stream);
    } catch (const Error& error) {
      std::fprintf(stderr, "uc_write, the reader: %s\n", error.what());
    }
  }
}

// Both ends on this host, each with a context of its own.
int run_both(const Options& options) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw Error("socketpair");
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw Error("fork");
  if (child == 0) {
    ::close(ends[0]);
    int status = 1;
    try {
      Stream stream(ends[1]);
      status = run_reader(options, stream);
    } catch (const Error& error) {
      std::fprintf(stderr, "uc_write, the reader: %s\n", error.what());
    }
    ::_exit(status);
  }
  ::close(ends[1]);
  int status = 1;
  {
    Stream stream(ends[0]);
    status = run_writer(options, stream);
  }
  int ended = 0;
  ::waitpid(child, &ended, 0);
  return status != 0 || ended != 0 ? 1 : 0;
}

int run(int argc, char** argv) {
  Options options;
  const bool quick = is_quick(argc, argv);
  options.device = text_option(argc, argv, "--device");
  options.peer = text_option(argc, argv, "--peer");
  options.listens = !text_option(argc, argv, "--listen").empty();
  options.port = static_cast<std::uint16_t>(
      option(argc, argv, options.listens ? "--listen" : "--port", options.port));
  options.device_port = uc_port_number(argc, argv);
  options.messages =
      std::max<std::uint64_t>(1, option(argc, argv, "--messages", quick ? 200 : options.messages));
  options.pings = std::min<std::uint64_t>(options.pings, options.messages);
  options.pace_us = option(argc, argv, "--pace-us", options.pace_us);
  options.timeout = std::min<std::uint64_t>(31, option(argc, argv, "--timeout", options.timeout));
  for (int i = 1; i < argc; ++i) {
    options.json = options.json || std::strcmp(argv[i], "--json") == 0;
    options.forever = options.forever || std::strcmp(argv[i], "--forever") == 0;
  }
  if (uc_open(options.device) == nullptr) {
    std::puts("skipped: no RDMA device");
    return 0;
  }
  if (!options.json && !options.listens)
    print_environment("UC beside RC, 64-byte WRITEs that are polled");
  if (options.listens) return run_readers(options);
  if (options.peer.empty()) return run_both(options);
  Stream stream(connected(options));
  return run_writer(options, stream);
}

}  // namespace
}  // namespace tickpath::bench

int main(int argc, char** argv) {
  return tickpath::bench::run_main(&tickpath::bench::run, argc, argv);
}
