#include "tests/fault/fault_run.hpp"

#include <sstream>

#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/control/admin_client.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {

using nlohmann::json;

namespace {

// As tickpath up starts and stops them.
const std::vector<std::string> kStartOrder{"sim", "mdh", "oeg", "risk", "strategy"};
const std::vector<std::string> kStopOrder{"strategy", "oeg", "risk", "mdh", "sim"};
constexpr long kDeadAfterMs = 35;  // heartbeat.dead_after of config/demo
constexpr auto kBetweenLooks = std::chrono::milliseconds(5);
// For one answer; a test that asks a stopped program waits for so long.
constexpr int kAnswerMs = 10'000;

std::int64_t number(const json& value, const char* key) {
  return value.at(key).get<std::int64_t>();
}

}  // namespace

std::int64_t monotonic_ns() { return clock::monotonic_ns(); }
double ms_since(std::int64_t from_ns) {
  return static_cast<double>(monotonic_ns() - from_ns) / 1e6;
}

std::int64_t time_scale() {
  const char* const scale = std::getenv("TICKPATH_TIME_SCALE");
  const bool emulated = test_support::over_network() && scale != nullptr;
  return emulated ? std::max(1L, std::strtol(scale, nullptr, 10)) : 1;
}

std::int64_t dead_after_ms() { return kDeadAfterMs * time_scale(); }

double heartbeat_bound_ms() {
  constexpr double kOfDeadAfter = 50.0 / 35.0;
  return kOfDeadAfter * static_cast<double>(dead_after_ms());
}

Lateness::Lateness()
    : thread_([this](const std::stop_token& stop) {
        constexpr std::chrono::milliseconds kNap(1);
        while (!stop.stop_requested()) {
          const std::int64_t from_ns = monotonic_ns();
          std::this_thread::sleep_for(kNap);
          const std::int64_t late_ns =
              monotonic_ns() - from_ns - std::chrono::nanoseconds(kNap).count();
          longest_ns_.store(std::max(longest_ns_.load(), late_ns));
        }
      }) {}

FaultRun::FaultRun() {
  if (!test_support::over_network()) return;
  // Verbs devices of tests are in emulated machines: little memory to clear at start, few messages,
  // and the bounds that are measured, not the patience of other tests.
  const std::string dead_after = "heartbeat.dead_after=" + std::to_string(dead_after_ms()) + "ms";
  const std::map<std::string, std::vector<std::string>> settings{
      {"sim", {"trace.enabled=false"}},
      {"mdh",
       {"trace.enabled=false", "instruments_max=256", "book.orders_max=65536",
        "book.levels_max=16384"}},
      {"oeg", {"trace.enabled=false", "risk.absent_after=5s", dead_after}},
      {"risk", {"trace.enabled=false", "instruments_max=256", "feed.ring_slots=8192", dead_after}},
      {"strategy",
       {"trace.enabled=false", "instruments_max=256", "feed.ring_slots=8192", dead_after}}};
  for (const auto& [program, each] : settings)
    for (const std::string& setting : each) configure(program, {"--set", setting});
}

FaultRun::~FaultRun() {
  // One that is stopped would not even die of SIGTERM.
  for (const auto& [name, process] : programs_)
    if (process) process->signal(SIGCONT);
}

void FaultRun::configure(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string>& all = extra_[program];
  all.insert(all.end(), arguments.begin(), arguments.end());
}

void FaultRun::begin() {
  // Long enough to outlast everything that a test does; end() cuts it short.
  const bool slow = test_support::over_network();
  configure("sim", {"--set", "replay.file=" + (slow ? folder_.generate(72'000, 240, 10)
                                                    : folder_.generate(1'200'000, 240))});
  for (const std::string& program : kStartOrder) start(program);
  control::admin_command(control::admin_path(folder_.run_dir(), "sim"), {{"command", "start"}});
  if (!wait_counter_above("oeg", "reports", "fills", 4)) throw Error("nothing trades\n" + logs());
}

void FaultRun::start(const std::string& program, bool until_ready) {
  std::vector<std::string> arguments{test_support::program(program),
                                     folder_.config_dir() + "/" + program + ".toml", "--run-dir",
                                     folder_.run_dir()};
  arguments.insert(arguments.end(), extra_[program].begin(), extra_[program].end());
  programs_[program] = std::make_unique<Process>(arguments, folder_.path());
  const auto ready = [&] {
    const json now = status(program);
    return now.is_object() && now.value("state", "") == "ready";
  };
  if (until_ready && !wait_until(ready)) throw Error(program + " does not get ready\n" + logs());
}

void FaultRun::signal(const std::string& program, int number) {
  programs_.at(program)->signal(number);
}

void FaultRun::reap(const std::string& program) {
  (void)programs_.at(program)->wait(test_support::kPatience);
}

json FaultRun::status(const std::string& program) const {
  try {
    return control::admin_command(control::admin_path(folder_.run_dir(), program),
                                  {{"command", "status"}}, kAnswerMs);
  } catch (const Error&) {
    return nullptr;
  }
}

std::uint64_t FaultRun::counter(const std::string& program, const std::string& group,
                                const std::string& name) const {
  const json now = status(program);
  if (!now.is_object() || !now.contains("counters")) return 0;
  const json& counters = now.at("counters");
  return counters.contains(group) ? counters.at(group).value(name, std::uint64_t{0}) : 0;
}

std::vector<std::uint64_t> FaultRun::counts(const std::vector<Deed>& deeds) const {
  std::vector<std::uint64_t> all;
  for (const Deed& deed : deeds) all.push_back(counter(deed.program, deed.group, deed.counter));
  return all;
}

std::string FaultRun::done_since(const std::vector<Deed>& deeds,
                                 const std::vector<std::uint64_t>& before) const {
  const std::vector<std::uint64_t> now = counts(deeds);
  std::string text;
  for (std::size_t i = 0; i < deeds.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(now[i] - before[i]) + " " + deeds[i].what;
  return text;
}

bool FaultRun::wait_until(const std::function<bool()>& done) const {
  const std::int64_t end =
      monotonic_ns() + std::chrono::duration_cast<std::chrono::nanoseconds>(kMustCome).count();
  while (!done()) {
    if (monotonic_ns() > end) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

bool FaultRun::wait_counter_above(const std::string& program, const std::string& group,
                                  const std::string& name, std::uint64_t value) const {
  return wait_until([&] { return counter(program, group, name) > value; });
}

bool FaultRun::trades() {
  return wait_counter_above("oeg", "orders", "accepted", counter("oeg", "orders", "accepted"));
}

bool FaultRun::end() {
  try {
    control::admin_command(control::admin_path(folder_.run_dir(), "sim"), {{"command", "halt"}});
  } catch (const Error&) {
    // A sim that was started anew may not replay.
  }
  // The last packets may still lie in mdh's socket: wait until it has taken in no more.
  std::uint64_t before = 0;
  int quiet = 0;
  (void)wait_until([&] {
    const std::uint64_t now = counter("mdh", "feed", "messages");
    quiet = now == before ? quiet + 1 : 0;
    before = now;
    return quiet > 20;
  });
  bool all = true;
  for (const std::string& program : kStopOrder) {
    if (!programs_.contains(program)) continue;
    programs_[program]->signal(SIGTERM);
    const Finished finished = programs_[program]->wait(test_support::kPatience);
    all &= finished.exit_code == 0;
  }
  return all;
}

json FaultRun::summary(const std::string& program) const {
  return json::parse(folder_.summary(program));
}

std::string FaultRun::broken_books(Unharmed unharmed) const {
  std::ostringstream broken;
  const json oeg = summary("oeg");
  const json strategy = summary("strategy");
  const auto equal = [&](const std::string& rule, std::int64_t left, std::int64_t right) {
    if (left != right) broken << rule << ": " << left << " is not " << right << "\n";
  };
  for (const char* const flow : {"orders", "changes"}) {
    const json& gate = oeg.at(flow);
    const json& own = strategy.at(flow);
    const std::string what = flow;
    equal(what + " received by oeg = refused + sent", number(gate, "received"),
          number(gate, "refused") + number(gate, "sent"));
    equal(what + " unanswered at oeg", number(gate, "unanswered"), 0);
    equal(what + " sent by strategy = accepted + rejected + lost", number(own, "sent"),
          number(own, "accepted") + number(own, "rejected") + number(own, "lost"));
    equal(what + " unanswered at strategy", number(own, "unanswered"), 0);
    // The answer to a change is lost, whether or not oeg had taken it; that to an order is found
    // out.
    const std::int64_t unknown = what == "changes" ? number(own, "lost") : 0;
    const std::int64_t missing = number(own, "sent") - number(gate, "received");
    if (unharmed.strategy && unharmed.oeg &&
        (missing < number(own, "lost") - unknown || missing > number(own, "lost")))
      broken << what << " sent by strategy = received by oeg + lost: " << number(own, "sent")
             << " is not " << number(gate, "received") << " + " << number(own, "lost") << "\n";
    // A killed oeg forgets what it refused: the journal has only what it sent.
    if (unharmed.strategy && what == "orders")
      equal("orders accepted, at strategy = at oeg", number(own, "accepted"),
            number(gate, "accepted"));
    if (!unharmed.sim) continue;
    const json sim = summary("sim").at(flow);
    equal(what + " sent by oeg = received by sim", number(gate, "sent") + number(gate, "own"),
          number(sim, "received"));
    equal(what + " received by sim = accepted + rejected", number(sim, "received"),
          number(sim, "accepted") + number(sim, "rejected"));
  }
  equal("open orders at the end", number(oeg, "open_orders"), 0);
  std::vector<std::string> holders{"strategy", "risk"};
  if (unharmed.sim) holders.emplace_back("sim");
  const auto right = folder_.positions("oeg");
  for (const std::string& program : holders) {
    const auto held = folder_.positions(program);
    if (held == right) continue;
    broken << "positions and cash of " << program << " and oeg differ:";
    for (const auto& [what, position] : right)
      if (const auto found = held.find(what); found == held.end() || found->second != position) {
        const HeldPosition other = found == held.end() ? HeldPosition{0, 0} : found->second;
        broken << " " << what << " (oeg: " << position.shares << " for " << position.cash << "; "
               << other.shares << " for " << other.cash << ")";
      }
    for (const auto& [what, position] : held)
      if (!right.contains(what)) broken << " " << what << " (oeg: none)";
    broken << "\n";
  }
  return broken.str();
}

std::string FaultRun::logs() const {
  std::string text;
  for (const std::string& program : kStartOrder) {
    std::string log;
    try {
      log = read_file(folder_.run_dir() + "/" + program + ".log");
    } catch (const Error&) {
      continue;
    }
    constexpr std::size_t kTail = 2500;
    text +=
        "--- " + program + ".log\n" + (log.size() > kTail ? log.substr(log.size() - kTail) : log);
  }
  return text;
}

}  // namespace tickpath::test_support
