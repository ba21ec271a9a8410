// `tickpath lat` and `tickpath bw` in perftest's manner: what is refused, what is planned, the
// figures of known samples, comparison with a baseline, and a server that meets strangers.
#include "tools/perf/perf.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/rdma/rdma.hpp"
#include "tests/support/thrown.hpp"
#include "tools/perf/baseline.hpp"
#include "tools/perf/control_link.hpp"
#include "tools/perf/data_link.hpp"
#include "tools/perf/protocol.hpp"
#include "tools/perf/server.hpp"

namespace tickpath::rdma::perf {
namespace {

using test_support::error_of;
using ::testing::HasSubstr;

DeviceInfo carries(std::uint32_t message_bytes_max) {
  DeviceInfo info;
  info.message_bytes_max = message_bytes_max;
  return info;
}

std::string refusal(const std::function<void(PerfOptions&)>& change) {
  PerfOptions options;
  change(options);
  return error_of([&] { check_options(options); });
}

TEST(PerfPlan, NamesTheOptionAndItsLimitsWhenItRefuses) {
  EXPECT_EQ(refusal([](PerfOptions&) {}), "no error");
  EXPECT_THAT(refusal([](PerfOptions& o) { o.sizes = {64, 1}; }), HasSubstr("--size 1:"));
  EXPECT_THAT(refusal([](PerfOptions& o) { o.sizes = {kPerfBytesMax + 1}; }), HasSubstr("8388608"));
  EXPECT_THAT(refusal([](PerfOptions& o) { o.tx_depth = 0; }), HasSubstr("--tx-depth 0"));
  EXPECT_THAT(refusal([](PerfOptions& o) { o.signal_every = 129; }), HasSubstr("--signal-every"));
  EXPECT_THAT(refusal([](PerfOptions& o) { o.batch = 129; }), HasSubstr("--batch 129"));
  EXPECT_THAT(refusal([](PerfOptions& o) { o.rate = -1; }), HasSubstr("--rate"));
  EXPECT_THAT(refusal([](PerfOptions& o) { o.provider = "verbs"; }), HasSubstr("--endpoint"));
  EXPECT_THAT(refusal([](PerfOptions& o) {
                o.duration_s = 1;
                o.iterations = 5;
              }),
              HasSubstr("--duration and --iterations"));
}

TEST(PerfPlan, CoversPerftestsSizesFromTwoBytesToEightMegabytes) {
  const std::vector<std::uint32_t> sizes = perf_all_sizes();
  EXPECT_EQ(sizes.size(), 23u);
  EXPECT_EQ(sizes.front(), 2u);
  EXPECT_EQ(sizes.back(), 8u << 20);
}

TEST(PerfPlan, KnowsOperationsByPerftestsNamesAndOnlyThoseOfTheTool) {
  EXPECT_EQ(parse_perf_operation(PerfTool::kLatency, "cas"), PerfOperation::kCompareSwap);
  EXPECT_EQ(parse_perf_operation(PerfTool::kLatency, "write-with-imm"),
            PerfOperation::kWriteWithImm);
  EXPECT_THAT(error_of([] { parse_perf_operation(PerfTool::kBandwidth, "faa"); }),
              HasSubstr("choose from: write send read"));
}

TEST(PerfPlan, LeavesOutSendsThatTheProviderCannotCarryAndSaysSo) {
  PerfOptions options{
      .operations = {PerfOperation::kWrite, PerfOperation::kSend, PerfOperation::kFetchAdd},
      .sizes = {64, 2048, 4096}};
  std::vector<std::string> notes;
  const std::vector<PerfCase> cases = plan_cases(options, carries(1024), notes);
  ASSERT_EQ(cases.size(), 5u);  // WRITE at three sizes, SEND at one, one atomic
  EXPECT_EQ(cases[3].operation, PerfOperation::kSend);
  EXPECT_EQ(cases[3].size_bytes, 64u);
  EXPECT_EQ(cases[4].size_bytes, 8u);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("at most 1024 bytes: 2 larger sizes"));
  options.operations = {PerfOperation::kSend};
  options.sizes = {4096};
  EXPECT_THAT(error_of([&] { (void)plan_cases(options, carries(1024), notes); }),
              HasSubstr("1024"));
  EXPECT_EQ(plan_cases(options, carries(0), notes).size(), 1u) << "0 is no limit";
}

TEST(PerfPlan, LeavesOutAtomicsWhereTheDeviceHasNoneAndSaysSo) {
  DeviceInfo info;
  info.name = "tcp";
  info.atomics = AtomicReach::kNone;
  PerfOptions options{.operations = {PerfOperation::kRead, PerfOperation::kFetchAdd},
                      .sizes = {64}};
  std::vector<std::string> notes;
  EXPECT_EQ(plan_cases(options, info, notes).size(), 1u);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("tcp"));
  EXPECT_THAT(notes[0], HasSubstr("no atomics"));
  options.operations = {PerfOperation::kCompareSwap};
  EXPECT_THAT(error_of([&] { (void)plan_cases(options, info, notes); }), HasSubstr("no atomics"));
}

TEST(PerfSamples, GiveTheColumnsOfKnownFigures) {
  std::vector<std::uint64_t> ticks(1000);
  std::iota(ticks.begin(), ticks.end(), 1001);  // 1001 .. 2000
  std::swap(ticks[0], ticks[999]);
  const LatencyColumns columns = latency_columns(ticks, 0.5, 1);
  EXPECT_EQ(columns.iterations, 1000u);
  EXPECT_DOUBLE_EQ(columns.min, 500.5);
  EXPECT_DOUBLE_EQ(columns.max, 1000);
  EXPECT_NEAR(columns.typical, 750, 1);
  EXPECT_DOUBLE_EQ(columns.average, 750.25);
  EXPECT_NEAR(columns.deviation, 144.34, 0.01);  // of a uniform distribution: width / sqrt(12)
  EXPECT_NEAR(columns.p99, 995, 1);
  EXPECT_NEAR(columns.p999, 999.5, 1);
  EXPECT_LE(columns.p9999, columns.max);
  std::uint64_t count = 0;
  double edge = columns.min;
  for (const HistogramBin& bin : columns.histogram) {
    count += bin.count;
    EXPECT_NEAR(bin.low_us, edge, 1e-6);
    edge = bin.high_us;
  }
  EXPECT_EQ(count, 1000u) << "every sample is in one bin";
  EXPECT_GE(edge, columns.max);
}

TEST(PerfSamples, AreFineWithOneValueOnly) {
  std::vector<std::uint64_t> ticks(10, 70);
  const LatencyColumns columns = latency_columns(ticks, 1, 30);
  EXPECT_DOUBLE_EQ(columns.min, 70);
  EXPECT_DOUBLE_EQ(columns.typical, 70) << "never outside of what was seen";
  EXPECT_DOUBLE_EQ(columns.deviation, 0);
  ASSERT_EQ(columns.histogram.size(), 1u);
  EXPECT_EQ(columns.histogram[0].count, 10u);
}

std::string result_json(const char* tool, const char* key, double write, double send) {
  return nlohmann::json{{"tool", tool},
                        {"provider", "shm"},
                        {"rows",
                         {{{"operation", "WRITE"}, {"size_bytes", 64}, {key, write}},
                          {{"operation", "SEND"}, {"size_bytes", 64}, {key, send}}}}}
      .dump();
}

TEST(PerfBaseline, AcceptsRowsWithinTheToleranceAndNamesTheOthers) {
  const std::string before = result_json("lat", "t_typical_us", 1.0, 2.0);
  EXPECT_TRUE(compare(before, result_json("lat", "t_typical_us", 1.2, 1.0), 0.25).within());
  const BaselineResult worse = compare(before, result_json("lat", "t_typical_us", 1.2, 2.6), 0.25);
  EXPECT_FALSE(worse.within());
  ASSERT_EQ(worse.rows.size(), 2u);
  EXPECT_EQ(worse.rows[0].row, "SEND 64");
  EXPECT_FALSE(worse.rows[0].within);
  EXPECT_NEAR(worse.rows[0].worse_by, 0.3, 1e-9);
  EXPECT_TRUE(worse.rows[1].within);
  EXPECT_THAT(to_text(worse, 0.25), HasSubstr("WORSE"));
}

TEST(PerfBaseline, TakesLessBandwidthAsWorse) {
  const std::string before = result_json("bw", "average_mb_s", 1000, 1000);
  const BaselineResult result = compare(before, result_json("bw", "average_mb_s", 2000, 500), 0.5);
  EXPECT_FALSE(result.rows[0].within) << "SEND: half as much is twice as long";
  EXPECT_TRUE(result.rows[1].within);
}

TEST(PerfBaseline, RefusesWhatIsNotABaselineOfThisTool) {
  const std::string now = result_json("lat", "t_typical_us", 1, 1);
  const auto with = [&](const std::string& before) {
    return error_of([&] { (void)compare(before, now, 0.25); });
  };
  EXPECT_THAT(with("{"), HasSubstr("not the JSON"));
  EXPECT_THAT(with("[]"), HasSubstr("not the JSON"));
  EXPECT_THAT(with(result_json("bw", "average_mb_s", 1, 1)), HasSubstr("`bw`"));
  EXPECT_THAT(with(R"({"tool": "lat", "rows": []})"), HasSubstr("none of the rows"));
  EXPECT_THAT(with(R"({"tool": "lat", "rows": [{"operation": "WRITE", "size_bytes": 64}]})"),
              HasSubstr("t_typical_us"));
}

TEST(PerfBaseline, SaysWhatElseIsDifferent) {
  nlohmann::json before = nlohmann::json::parse(result_json("lat", "t_typical_us", 1, 1));
  before["provider"] = "verbs";
  before["rows"].erase(1);
  const BaselineResult result =
      compare(before.dump(), result_json("lat", "t_typical_us", 1, 1), 0.25);
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("provider was \"verbs\"")));
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("SEND 64 is not in the baseline")));
}

// A server on a thread of this process.
class PerfServer {
 public:
  explicit PerfServer(std::function<void(const std::string&, const std::string&)> served = {})
      : endpoint_((std::filesystem::temp_directory_path() /
                   ("tickpath.perf_test." + std::to_string(::getpid())))
                      .string()) {
    PerfServeEvents events{
        .listening = [this](const std::string&, const DeviceInfo&) { listening_ = true; },
        .served = std::move(served),
        .abandoned = [this] { return stop_.load(); }};
    thread_ = std::thread([this, events] {
      serve_perf(PerfServeOptions{.endpoint = endpoint_, .forever = true}, events);
    });
    while (!listening_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~PerfServer() {
    stop_ = true;
    thread_.join();
  }

  // What a client with this hello is told; "no error" if it is let in.
  std::string answer_to(std::span<const std::byte> hello) const {
    const std::unique_ptr<Device> device = open_device("shm", "");
    const std::unique_ptr<CompletionQueue> queue = device->create_queue(64, nullptr);
    ConnectParameters parameters{.endpoint = endpoint_, .hello = hello};
    return error_of([&] { (void)device->connect(*queue, parameters); });
  }
  const std::string& endpoint() const { return endpoint_; }
  std::string answer_to(const PerfHello& hello) const {
    return answer_to(std::as_bytes(std::span(&hello, 1)));
  }

 private:
  std::string endpoint_;
  std::atomic<bool> listening_{false}, stop_{false};
  std::thread thread_;
};

PerfHello good_hello() {
  return {.area_bytes = 4096, .message_bytes_max = 64, .tx_depth = 16, .rx_depth = 16};
}

TEST(PerfServer, RefusesClientsOfAnotherVersionByText) {
  const PerfServer server;
  PerfHello hello = good_hello();
  hello.version = kPerfVersion + 1;
  EXPECT_THAT(server.answer_to(hello), HasSubstr("the client version 2"));
  hello = good_hello();
  hello.bytes += 8;
  EXPECT_THAT(server.answer_to(hello), HasSubstr("version"));
  EXPECT_THAT(server.answer_to(std::as_bytes(std::span("hello, is this the gateway?"))),
              HasSubstr("the client is something else"));
  EXPECT_THAT(server.answer_to(std::span<const std::byte>()), HasSubstr("something else"));
}

TEST(PerfServer, RefusesWhatItsDeviceCannotDoByText) {
  const PerfServer server;
  PerfHello hello = good_hello();
  hello.area_bytes = hello.message_bytes_max = 2u << 20;
  EXPECT_THAT(server.answer_to(hello), HasSubstr("SENDs of at most 1048576 bytes"));
  hello = good_hello();
  hello.area_bytes = ~0u;
  EXPECT_THAT(server.answer_to(hello), HasSubstr("8388608"));
  hello = good_hello();
  hello.rx_depth = 1u << 30;
  EXPECT_THAT(server.answer_to(hello), HasSubstr("depth"));
  hello = good_hello();
  hello.connection = PerfConnection::kData;
  EXPECT_THAT(server.answer_to(hello), HasSubstr("no such session"));
}

// Both ends of a control connection, on one thread: what happens between two polls is up to the
// test.
struct ControlPair {
  ControlPair() : near(*device), far(*device) {
    const std::string endpoint = (std::filesystem::temp_directory_path() /
                                  ("tickpath.perf_pair." + std::to_string(::getpid())))
                                     .string();
    const std::unique_ptr<Listener> listener = device->listen(endpoint);
    std::thread other([&] {
      far.bind(device
                   ->connect(far.queue(), ConnectParameters{.endpoint = endpoint,
                                                            .initial_receives = far.receives(),
                                                            .options = far.options()})
                   .queue_pair);
    });
    std::unique_ptr<ConnectionRequest> request;
    while (!request) {
      request = listener->next();
      std::this_thread::yield();
    }
    near.bind(request->accept(near.queue(), near.options(), {}, {}, near.receives()));
    other.join();
  }
  void far_leaves() { far.bind(nullptr); }
  // Returns when the near side's queue pair knows that the other one has left.
  void await_gone() { near.await_departure(std::chrono::seconds(60)); }

  std::unique_ptr<Device> device = open_device("shm", "");
  ControlLink near, far;
};

PerfCommand end_command() { return {.kind = PerfCommandKind::kEnd}; }

TEST(PerfControlLink, HandsOverWhatArrivedBeforeThePeerLeft) {
  ControlPair pair;
  pair.far.send(end_command());
  pair.far_leaves();
  pair.await_gone();  // message and end of the connection are polled together
  PerfCommand command;
  ASSERT_TRUE(pair.near.try_receive(command));
  EXPECT_EQ(command.kind, PerfCommandKind::kEnd);
  EXPECT_THAT(error_of([&] { (void)pair.near.try_receive(command); }), HasSubstr("is gone"));
}

TEST(PerfControlLink, TakesAnAnswerAsProofThatItsMessageArrived) {
  ControlPair pair;
  pair.near.send(PerfReply{});
  pair.far.send(end_command());
  pair.far_leaves();
  pair.await_gone();
  PerfCommand command;
  EXPECT_TRUE(pair.near.try_receive(command));
}

TEST(PerfControlLink, SaysFarewellToAPeerThatHasLeft) {
  ControlPair pair;
  pair.far_leaves();
  EXPECT_NO_THROW(pair.near.farewell(end_command()));
  pair.await_gone();
  EXPECT_NO_THROW(pair.near.farewell(end_command()));
  EXPECT_THAT(error_of([&] { pair.near.send(end_command()); }), HasSubstr("is gone"));
}

TEST(PerfControlLink, WaitsForThePeerToLeaveNoLongerThanItsLimit) {
  ControlPair pair;
  const auto begin = std::chrono::steady_clock::now();
  pair.near.await_departure(std::chrono::milliseconds(20));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  pair.far.send(end_command());
  PerfCommand command;
  EXPECT_TRUE(pair.near.try_receive(command)) << "the connection was not at its end";
}

// The client's last word and its leaving reach the server between two of its looks.
TEST(PerfServer, EndsASessionInOrderWhenItsClientLeavesRightAfterItsLastWord) {
  std::mutex mutex;
  std::vector<std::string> failures;
  PerfServer server([&](const std::string&, const std::string& failure) {
    const std::lock_guard lock(mutex);
    failures.push_back(failure);
  });
  constexpr std::size_t kSessions = 20;
  for (std::size_t i = 0; i < kSessions; ++i) {
    const std::unique_ptr<Device> device = open_device("shm", "");
    ControlLink control(*device);
    PerfHello hello = good_hello();
    hello.session = i + 1;
    ConnectParameters parameters{.endpoint = server.endpoint(),
                                 .hello = std::as_bytes(std::span(&hello, 1)),
                                 .initial_receives = control.receives(),
                                 .options = control.options(),
                                 .timeout_ms = 60'000};
    // Refused while the server has not yet seen that its last client left.
    while (!control.bound()) {
      const std::string error =
          error_of([&] { control.bind(device->connect(control.queue(), parameters).queue_pair); });
      ASSERT_THAT(error, ::testing::AnyOf("no error", HasSubstr("is busy")));
    }
    hello.connection = PerfConnection::kData;
    DataLink data(*device, hello);
    const Grant grant = data.grant();
    parameters.grants = std::span(&grant, 1);
    parameters.options = data.options();
    parameters.initial_receives = data.receives();
    data.bind(device->connect(data.queue(), parameters).queue_pair);
    control.farewell(end_command());
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (std::size_t count = 0; count < kSessions; std::this_thread::yield()) {
    const std::lock_guard lock(mutex);
    count = failures.size();
    ASSERT_LT(std::chrono::steady_clock::now(), end) << count << " sessions ended";
  }
  EXPECT_THAT(failures, ::testing::Each(std::string()));
}

}  // namespace
}  // namespace tickpath::rdma::perf
