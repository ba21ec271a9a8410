#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/feed_recorder.hpp"
#include "tools/cli/order_recorder.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/recording_writer.hpp"
#include "tools/cli/replay_keys.hpp"
#include "tools/cli/signals.hpp"

namespace tickpath::cli {
namespace {

constexpr int kLostStatus = 3;

struct RecordArguments {
  std::string output;
  std::string itch;
  FeedRecorderOptions feed{.groups = {"239.255.7.1:7701"}};
  std::string group_b;
  std::vector<std::string> stores;
  std::string venue = "SIM";
  std::uint16_t order_port = 9'878;
  double duration_s = 0;  // 0: no limit
  bool until_end = false;
  bool replay = false;
  std::string run_dir = "run";
  std::string sim = "sim";
};

class Recording {
 public:
  explicit Recording(const RecordArguments& arguments)
      : arguments_(arguments),
        writer_(arguments.output, arguments.feed.groups.front(), "tickpath record"),
        feed_(arguments.feed, writer_),
        orders_(arguments.venue, arguments.order_port, writer_) {
    for (const std::string& store : arguments.stores) {
      if (std::filesystem::exists(store))
        orders_.follow(store, OrderRecorder::From::kNow);
      else
        awaited_.push_back(store);
    }
  }

  void run() {
    Signals signals;
    std::vector<pollfd> polled{{signals.file(), POLLIN, 0}};
    for (const int descriptor : feed_.descriptors()) polled.push_back({descriptor, POLLIN, 0});
    std::fprintf(stderr, "recording to %s; Ctrl-C ends it\n", arguments_.output.c_str());
    if (arguments_.replay)
      command_replay(arguments_.run_dir, {arguments_.sim}, {{"command", "start"}});
    while (!signals.came() && !done()) {
      constexpr int kLookMs = 20;  // at the orders' stores, and at the time
      (void)::poll(polled.data(), polled.size(), kLookMs);
      while (feed_.take() != 0) tell();
      follow_awaited();
      orders_.take();
      tell();
    }
    while (feed_.take() != 0) {
    }
    follow_awaited();
    orders_.take();
    writer_.finish();
  }

  void print() const {
    const FeedRecorderCounts& feed = feed_.counts();
    std::printf("%s: %s datagrams, %s bytes of market data, %s FIX messages\n",
                arguments_.output.c_str(), grouped(feed.datagrams).c_str(),
                grouped(feed.bytes).c_str(), grouped(orders_.messages()).c_str());
    if (feed.kernel_drops != 0)
      std::printf("LOST: %s datagrams found the socket's buffer full (net.core.rmem_max)\n",
                  grouped(feed.kernel_drops).c_str());
    if (feed.cut != 0) std::printf("LOST: %s datagrams were too long\n", grouped(feed.cut).c_str());
    const FeedGaps& gaps = feed_.gaps();
    if (gaps.missing() != 0)
      std::printf("LOST: %s messages of the feed never came\n", grouped(gaps.missing()).c_str());
    if (gaps.before() != 0)
      std::printf("LOST: %s messages of the feed were sent before the recording began\n",
                  grouped(gaps.before()).c_str());
    if (gaps.damaged() != 0)
      std::printf("LOST: %s datagrams are damaged, or of no feed\n",
                  grouped(gaps.damaged()).c_str());
    if (orders_.lost() != 0)
      std::printf("LOST: %s FIX messages were overwritten before they were read\n",
                  grouped(orders_.lost()).c_str());
    for (const std::string& store : awaited_)
      std::printf("LOST: no orders of %s, which never came\n", store.c_str());
  }
  bool lost() const {
    const FeedGaps& gaps = feed_.gaps();
    return feed_.counts().kernel_drops != 0 || feed_.counts().cut != 0 || gaps.missing() != 0 ||
           gaps.before() != 0 || gaps.damaged() != 0 || orders_.lost() != 0 || !awaited_.empty();
  }

 private:
  // The store of a program that was not there yet, from its first message on.
  void follow_awaited() {
    std::erase_if(awaited_, [this](const std::string& store) {
      if (!std::filesystem::exists(store)) return false;
      try {
        orders_.follow(store, OrderRecorder::From::kBeginning);
        return true;
      } catch (const Error&) {
        return false;  // its program is about to write the head of it
      }
    });
  }
  bool done() const {
    if (arguments_.until_end && feed_.ended()) return true;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    return arguments_.duration_s > 0 && taken.count() >= arguments_.duration_s;
  }
  void tell() {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - told_ < std::chrono::milliseconds(200)) return;
    told_ = now;
    std::fprintf(stderr, "\r%s datagrams, %s FIX messages, %s lost\033[K",
                 grouped(feed_.counts().datagrams).c_str(), grouped(orders_.messages()).c_str(),
                 grouped(feed_.counts().kernel_drops).c_str());
  }

  const RecordArguments& arguments_;
  files::CaptureWriter writer_;
  FeedRecorder feed_;
  OrderRecorder orders_;
  std::vector<std::string> awaited_;  // stores that are not there yet
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point told_{};
};

void run_record(RecordArguments& arguments) {
  ::umask(077);  // orders are in it
  if (!arguments.group_b.empty()) arguments.feed.groups.push_back(arguments.group_b);
  bool lost = false;
  {
    Recording recording(arguments);
    recording.run();
    recording.print();
    lost = recording.lost();
  }
  if (!arguments.itch.empty()) {
    // From the capture: it arbitrates the lines, and tells what neither of them brought.
    const auto capture = itch::open_recording(arguments.output);
    const RecordingSummary summary = write_recording(*capture, arguments.itch, "converting");
    print_summary(summary, arguments.itch);
    if (summary.damaged) std::printf("LOST: the capture ends where it is damaged\n");
    lost |= summary.damaged;
    std::printf("%s\n", capture->remarks().c_str());
  }
  std::fflush(stdout);
  if (lost) throw Exit{kLostStatus};
}

}  // namespace

void add_record_command(CLI::App& app) {
  auto* command = add_other_command(app, "record");
  auto arguments = std::make_shared<RecordArguments>();
  command
      ->add_option("output", arguments->output,
                   "Packet capture to write (pcapng); compressed if it ends in .gz or .zst")
      ->required();
  command->add_option("--group", arguments->feed.groups.front(), "Multicast group of line A")
      ->capture_default_str();
  command->add_option("--group-b", arguments->group_b, "And of line B, if there is one");
  command
      ->add_option("--interface", arguments->feed.interface,
                   "Local address of the interface to join the groups on")
      ->capture_default_str();
  command->add_option("--itch", arguments->itch,
                      "Write the messages as ITCH 5.0 (BinaryFILE), too, when it ends");
  command->add_option("--orders", arguments->stores,
                      "FIX stores to follow, one for each side of a session:\n"
                      "run/sim.TICKPATH.fixstore run/oeg.fixstore");
  command->add_option("--venue", arguments->venue, "Comp id of the exchange's side")
      ->capture_default_str();
  command->add_option("--order-port", arguments->order_port, "And its port, for the capture")
      ->capture_default_str();
  command->add_option("--duration", arguments->duration_s, "Seconds; else until Ctrl-C");
  command->add_flag("--until-end", arguments->until_end,
                    "Until every line has said the end of its MoldUDP64 session");
  command->add_flag("--replay", arguments->replay,
                    "Start the replay of tickpath up --no-replay, once the groups are joined");
  command->add_option("--run-dir", arguments->run_dir, "--replay: where sim runs")
      ->capture_default_str();
  command->add_option("--sim", arguments->sim, "--replay: instance name of sim")
      ->capture_default_str();
  command->footer(
      "Exit status: 0 complete, from the session's first message on; 3 something was lost, or "
      "sent\n"
      "before the recording began, and counted. A FIX store that is not there\n"
      "yet is waited for.");
  command->callback([arguments] { run_record(*arguments); });
}

}  // namespace tickpath::cli
