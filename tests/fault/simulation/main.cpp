// The program pair_simulation. Pair, Succession, PairMemory and Journal are real; fabric, clock and
// disks are simulated. A run takes a few milliseconds. Each seed is one run, which always goes the
// same way.
//
//   pair_simulation --seeds 100000 --from 1     # many; ends with the tenth that does not hold
//   pair_simulation --from 4711 --tell          # one, with what happens in it
//   pair_simulation --mutants                   # rules broken on purpose: each must be found
//   pair_simulation --mutant 4 --mutant 7       # the fourth and the seventh of them
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <malloc.h>

#include "tests/fault/simulation/world.hpp"
#include "tests/support/folder.hpp"

namespace tickpath {
namespace {

simulation::World* world = nullptr;
std::uint32_t broken_rules = 0;

struct Options {
  std::uint64_t from = 1;
  std::uint64_t seeds = 0;  // 0: one, or as many as finding a mutant may take
  bool tells = false;
  bool mutants = false;
  std::set<std::size_t> chosen;  // of them, from 1; empty: all
};

struct Mutant {
  const char* name;
  std::uint32_t rules;   // oeg::Rule
  std::uint32_t habits;  // simulation::Habit
};

constexpr std::uint32_t of(oeg::Rule rule) { return static_cast<std::uint32_t>(rule); }
constexpr std::uint32_t of(simulation::Habit habit) { return static_cast<std::uint32_t>(habit); }

constexpr Mutant kMutants[] = {
    {"no fence", of(oeg::Rule::kFence), 0},
    {"what is not confirmed takes effect", of(oeg::Rule::kConfirm), 0},
    {"the witness is not asked", of(oeg::Rule::kWitness), 0},
    {"its answer is not looked at", of(oeg::Rule::kEpoch), 0},
    {"a standby that takes nothing is waited for", of(oeg::Rule::kTaken), 0},
    {"a joiner is waited for", of(oeg::Rule::kJoiner), 0},
    {"a standby without a journal stays", of(oeg::Rule::kFollows), 0},
    {"a standby is overdue until all is confirmed", of(oeg::Rule::kProgress), 0},
    {"a memory is trusted", 0, of(simulation::Habit::kAsksBeforeItLeads)},
    {"a pair is founded by one alone", 0, of(simulation::Habit::kFoundsWithTwo)},
    {"a torn report counts as booked", 0, of(simulation::Habit::kBooksReportsWhole)},
    {"who has joined begins anew", 0, of(simulation::Habit::kResumesWhatItJoined)},
    {"a memory is synced now and then only", 0, of(simulation::Habit::kSyncsItsMemory)},
    {"who joins without a memory has renounced", 0, of(simulation::Habit::kTrustsNoNewcomer)},
};
constexpr std::uint64_t kFailuresMax = 10;
constexpr std::uint64_t kMutantSeeds = 40'000;  // at most, until it is found

class Runs {
 public:
  Runs() : path_(folder_.path()) {
    // In memory, where there is such a place: a run makes some twenty files.
    std::error_code error;
    std::string shared = "/dev/shm/tickpath_simulation_XXXXXX";
    if (std::filesystem::is_directory("/dev/shm", error) && ::mkdtemp(shared.data()) != nullptr)
      path_ = shared;
  }
  ~Runs() { std::filesystem::remove_all(path_); }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  simulation::Outcome run(std::uint64_t seed, const Mutant* mutant, bool tells) {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove_all(entry.path());
    simulation::World one(seed, path_, hot_log(), mutant == nullptr ? 0 : mutant->habits, tells);
    world = &one;
    broken_rules = mutant == nullptr ? 0 : mutant->rules;
    const simulation::Outcome outcome = one.run();
    world = nullptr;
    return outcome;
  }

 private:
  static log::HotLog& hot_log() {
    static log::HotLog log;  // nobody reads it
    return log;
  }

  test_support::Folder folder_;
  std::string path_;
};

struct Totals {
  std::uint64_t failed = 0;
  std::uint64_t orders = 0;
  std::uint64_t leaderships = 0;
  std::uint64_t old_books = 0;
};

void add(Totals& totals, std::uint64_t seed, const simulation::Outcome& outcome) {
  totals.orders += outcome.orders;
  totals.leaderships += outcome.epochs;
  totals.old_books += outcome.books_were_old ? 1 : 0;
  if (outcome.problem.empty()) return;
  ++totals.failed;
  std::printf("seed %" PRIu64 ", round %u: %s\n  again: pair_simulation --from %" PRIu64
              " --tell\n",
              seed, outcome.round, outcome.problem.c_str(), seed);
  std::fflush(stdout);
}

int run_seeds(const Options& options) {
  Runs runs;
  Totals totals;
  const auto begun = std::chrono::steady_clock::now();
  std::uint64_t seed = options.from;
  const std::uint64_t end = seed + std::max<std::uint64_t>(options.seeds, 1);
  for (; seed != end && totals.failed < kFailuresMax; ++seed)
    add(totals, seed, runs.run(seed, nullptr, options.tells));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  const std::uint64_t count = seed - options.from;
  std::printf("%" PRIu64 " seeds from %" PRIu64 ", %.0f a second: %" PRIu64 " failed; %" PRIu64
              " orders, %" PRIu64 " leaderships; in %" PRIu64
              " a person had to begin with an old book\n",
              count, options.from, static_cast<double>(count) / took.count(), totals.failed,
              totals.orders, totals.leaderships, totals.old_books);
  return totals.failed == 0 ? 0 : 1;
}

// The first seed that finds it; none: nothing does.
std::optional<std::uint64_t> find(Runs& runs, const Mutant& mutant, std::uint64_t from,
                                  std::uint64_t seeds) {
  for (std::uint64_t seed = from; seed != from + seeds; ++seed) {
    const simulation::Outcome outcome = runs.run(seed, &mutant, false);
    // A seed that fails by itself proves nothing.
    if (outcome.problem.empty() || !runs.run(seed, nullptr, false).problem.empty()) continue;
    std::printf("%-45s seed %" PRIu64 ", round %u: %s\n", mutant.name, seed, outcome.round,
                outcome.problem.c_str());
    return seed;
  }
  std::printf("%-45s is not found\n", mutant.name);
  return std::nullopt;
}

int run_mutants(const Options& options) {
  Runs runs;
  bool all_found = true;
  for (const Mutant& mutant : kMutants) {
    const auto number = static_cast<std::size_t>(&mutant - kMutants) + 1;
    if (!options.chosen.empty() && !options.chosen.contains(number)) continue;
    const std::uint64_t seeds = options.seeds == 0 ? kMutantSeeds : options.seeds;
    all_found &= find(runs, mutant, options.from, seeds).has_value();
    std::fflush(stdout);
  }
  return all_found ? 0 : 1;
}

std::optional<Options> parse(int count, char** words) {
  Options options;
  for (int at = 1; at < count; ++at) {
    const std::string_view word = words[at];
    const bool has_number = at + 1 < count;
    if (word == "--tell")
      options.tells = true;
    else if (word == "--mutants")
      options.mutants = true;
    else if (word == "--mutant" && has_number)
      options.chosen.insert(std::strtoull(words[++at], nullptr, 10));
    else if (word == "--seeds" && has_number)
      options.seeds = std::strtoull(words[++at], nullptr, 10);
    else if (word == "--from" && has_number)
      options.from = std::strtoull(words[++at], nullptr, 10);
    else
      return std::nullopt;
  }
  return options;
}

}  // namespace

// oeg/steps.hpp: where a run may end a process, and which rule it has it break.
void oeg::at(Step step) noexcept {
  if (world != nullptr && world->acting() != nullptr) world->acting()->at(step);
}
bool oeg::broken(Rule rule) noexcept { return (broken_rules & of(rule)) != 0; }

}  // namespace tickpath

int main(int count, char** words) {
  // Blocks of a hundred kilobytes come and go with each process: the heap keeps them.
  mallopt(M_MMAP_THRESHOLD, 1 << 26);
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  const auto options = tickpath::parse(count, words);
  if (!options) {
    std::fprintf(stderr,
                 "usage: pair_simulation [--seeds N] [--from K] [--tell] [--mutants] "
                 "[--mutant N]\n");
    return 2;
  }
  return options->mutants || !options->chosen.empty() ? tickpath::run_mutants(*options)
                                                      : tickpath::run_seeds(*options);
}
