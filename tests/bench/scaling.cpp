// How cost grows: the book by symbols, mdh by subscribers, strategy by instances, deterministic
// replay, reading recordings, the memory of `tickpath trace`. One table.
//
//   scaling [--quick] [--only book|subscribers|strategies|replay|reading|trace]
//
// Book and replay run the programs that measure or do it (bench/decode_book, bin/tickpath), the
// rest runs here.
#include "tests/bench/scaling.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/feeds/generator/generator.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "common/trace/analysis.hpp"
#include "common/trace/stamp.hpp"
#include "tests/bench/report.hpp"
#include "tests/support/process.hpp"

namespace tickpath::bench {
namespace {

using test_support::Folder;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string output_of(const std::vector<std::string>& arguments) {
  const test_support::Finished done = test_support::run(arguments, "", std::chrono::minutes(5));
  if (done.exit_code != 0) throw std::runtime_error(arguments[0] + " failed:\n" + done.output);
  return done.output;
}

// The number behind `label` in a program's output.
double number_behind(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) throw std::runtime_error("no '" + label + "' in:\n" + text);
  return std::strtod(text.c_str() + at + label.size(), nullptr);
}

void print_book(const ScalingOptions& options) {
  const std::string bench = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* symbols : {"10", "1000", "8000"}) {
    const std::string text = output_of({bench + "/decode_book", "--symbols", symbols, "--messages",
                                        std::to_string(options.pick(3'000'000, 120'000)),
                                        options.quick ? "--quick" : ""});
    print_row("book, ns a message in bursts; message by message", std::string(symbols) + " symbols",
              decimal(number_behind(text, "decode and book, in bursts  ")) + "; " +
                  decimal(number_behind(text, "decode and book, message by message")));
  }
}

std::string generate(const Folder& folder, std::uint64_t messages, std::uint32_t symbols,
                     const std::string& name) {
  itch::GeneratorOptions options;
  options.messages = messages;
  options.symbols = symbols;
  itch::Generator generator(options);
  itch::BinaryFileWriter file(folder / name);
  itch::RecordedMessage message;
  while (generator.next(message) == itch::ReadStatus::kMessage) file.write(message.bytes);
  file.finish();
  return folder / name;
}

void print_replay(const ScalingOptions& options) {
  const Folder folder;
  const std::uint64_t messages = options.pick(1'000'000, 20'000);
  const std::string recording = generate(folder, messages, 100, "replay.itch50");
  const double seconds = seconds_of([&] {
    (void)output_of({test_support::program("tickpath"), "replay", "--deterministic",
                     test_support::source("config/demo"), "--run-dir", folder / "run", "--set",
                     "sim:replay.file=" + recording});
  });
  print_row("deterministic replay, thousand messages/s, start and end included",
            std::to_string(messages) + " messages",
            decimal(static_cast<double>(messages) / seconds / 1e3));
}

// A first reading brings the file into the page cache; the fastest of the others counts.
void print_reading(const ScalingOptions& options) {
  const Folder folder;
  const std::uint64_t messages = options.pick(5'000'000, 20'000);
  for (const char* name : {"plain.itch50", "packed.itch50.zst", "packed.itch50.gz"}) {
    const std::string path = generate(folder, messages, 1'000, name);
    std::uint64_t bytes = 0;
    double best = 1e9;
    for (int i = 0; i < 4; ++i) {
      bytes = 0;
      const double seconds = seconds_of([&] {
        const auto reader = itch::open_recording(path);
        for (itch::RecordedMessage message; reader->next(message) == itch::ReadStatus::kMessage;) {
          bytes += itch::kFrameLengthBytes + message.bytes.size();
          (void)reader->file_bytes_read();  // as whoever shows progress does
        }
      });
      if (i != 0) best = std::min(best, seconds);
    }
    print_row("reading a recording, MB/s of messages", name,
              decimal(static_cast<double>(bytes) / best / 1e6, 0));
    std::filesystem::remove(path);
  }
}

// As the programs leave them: six stamps a tick, every tenth causing an order of eleven and a link.
std::uint64_t write_traces(const Folder& folder, std::uint64_t ticks) {
  using trace::Hop;
  std::uint64_t capacity = 1;
  while (capacity < 4 * ticks) capacity *= 2;
  std::uint64_t stamps = 0;
  const auto write = [&](const char* program, std::vector<Hop> of_tick, std::vector<Hop> of_order) {
    trace::TraceOptions options;
    options.path = folder / (std::string(program) + ".trace");
    options.capacity = capacity;
    options.program = program;
    trace::TraceWriter writer(options);
    writer.add_sync_point();
    const std::uint64_t start = tsc_now().value;
    for (std::uint64_t tick = 1; tick <= ticks; ++tick) {
      const auto at = [&](Hop hop) {
        return TscTicks{start + tick * 2'000 + 100 * static_cast<std::uint64_t>(hop) + tick % 61};
      };
      for (const Hop hop : of_tick) {
        if (hop == Hop::kMdhKernelRx)
          writer.stamp_realtime(hop, tick, 1'000'000'000 + static_cast<std::int64_t>(tick));
        else
          writer.stamp_at(hop, tick, at(hop));
      }
      stamps += of_tick.size();
      if (tick % 10 != 0) continue;
      if (of_order.front() == Hop::kStrategyDecided) writer.link_order(tick << 8, tick), ++stamps;
      for (const Hop hop : of_order) writer.stamp_at(hop, tick << 8, at(hop));
      stamps += of_order.size();
    }
    writer.write_behind();
  };
  write("sim", {Hop::kSimSent}, {Hop::kSimOrderRx, Hop::kSimMatched});
  write("mdh", {Hop::kMdhKernelRx, Hop::kMdhRx, Hop::kMdhBook, Hop::kMdhPosted}, {Hop::kNone});
  write("strategy", {Hop::kStrategySeen},
        {Hop::kStrategyDecided, Hop::kStrategyPosted, Hop::kStrategyReportSeen});
  write("oeg", {},
        {Hop::kOegSeen, Hop::kOegRiskPassed, Hop::kOegEncoded, Hop::kOegSent, Hop::kOegReportRx});
  return stamps;
}

// The most memory of a program that runs to its end.
std::uint64_t peak_bytes(const std::vector<std::string>& arguments) {
  std::vector<char*> texts;
  for (const std::string& each : arguments) texts.push_back(const_cast<char*>(each.c_str()));
  texts.push_back(nullptr);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(1);
    ::execv(texts[0], texts.data());
    ::_exit(1);
  }
  int status = 0;
  rusage used{};
  if (::wait4(child, &status, 0, &used) != child || status != 0)
    throw std::runtime_error(arguments[0] + " failed");
  return static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
}

void print_trace(const ScalingOptions& options) {
  const auto trace = [&](std::uint64_t ticks, double& seconds, std::uint64_t& stamps) {
    const Folder folder;
    stamps = write_traces(folder, ticks);
    std::uint64_t bytes = 0;
    seconds = seconds_of([&] {
      bytes = peak_bytes({test_support::program("tickpath"), "trace", folder.path()});
    });
    return bytes;
  };
  double seconds = 0;
  std::uint64_t few = 0;
  std::uint64_t many = 0;
  const std::uint64_t base = trace(100, seconds, few);
  const std::uint64_t full = trace(options.pick(2'000'000, 5'000), seconds, many);
  print_row(
      "tickpath trace, bytes of memory a stamp of 16; ns a stamp", std::to_string(many) + " stamps",
      decimal(static_cast<double>(full - std::min(base, full)) / static_cast<double>(many - few)) +
          "; " + decimal(seconds * 1e9 / static_cast<double>(many)));
}

int run(int argc, char** argv) {
  ScalingOptions options;
  options.quick = is_quick(argc, argv);
  const std::string only = text_option(argc, argv, "--only");
  print_environment("how cost grows");
  std::printf("| what | at | cost |\n| --- | --- | --- |\n");
  const std::pair<const char*, void (*)(const ScalingOptions&)> parts[] = {
      {"book", print_book},
      {"subscribers", print_subscribers},
      {"strategies", print_strategies},
      {"replay", print_replay},
      {"reading", print_reading},
      {"trace", print_trace}};
  for (const auto& [name, print] : parts)
    if (only.empty() || only == name) print(options);
  return 0;
}

}  // namespace

void print_row(const std::string& what, const std::string& at, const std::string& cost) {
  std::printf("| %s | %s | %s |\n", what.c_str(), at.c_str(), cost.c_str());
  std::fflush(stdout);
}

std::string decimal(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace tickpath::bench

int main(int argc, char** argv) {
  return tickpath::bench::run_main(tickpath::bench::run, argc, argv);
}
