// `tickpath prices`: reads mdh's price store by RDMA READ, while mdh works.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/config/values.hpp"
#include "common/control/long_names.hpp"
#include "common/stores/prices/price_client.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/names.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/mdh_connection.hpp"
#include "tools/cli/prices_output.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

struct PriceArguments {
  std::vector<std::string> symbols;
  std::uint64_t trades = 0;
  std::uint64_t quotes = 0;
  std::string bars;
  std::string last;
  bool json = false;
  MdhArguments from;
};

// A device, and a connection to a store on it.
class PriceReader {
 public:
  explicit PriceReader(const PriceArguments& arguments)
      : mdh_(arguments.from, wire::Service::kPrices), client_(*mdh_.device, "tickpath.prices") {
    const auto extras = mdh_.connection->extras();
    if (extras.size() <= wire::PricesGrants::kStore)
      throw Error("mdh at " + arguments.from.where() + " grants no price store");
    client_.attach(*mdh_.connection, extras[wire::PricesGrants::kStore]);
    require(client_.read_info(MdhConnection::kTimeoutMs));
  }
  ~PriceReader() { client_.detach(); }
  prices::PriceClient& client() noexcept { return client_; }

  // What concerns the store and no single symbol ends the command.
  static void require(prices::PriceStatus status) {
    using prices::PriceStatus;
    if (status == PriceStatus::kFailed || status == PriceStatus::kNoStore ||
        status == PriceStatus::kPending)
      throw Error("mdh's price store: " + std::string(prices::to_string(status)));
  }

 private:
  MdhConnection mdh_;
  prices::PriceClient client_;
};

std::string problem_of(prices::PriceStatus status) {
  if (status == prices::PriceStatus::kOk) return {};
  if (status == prices::PriceStatus::kUnknownSymbol)
    return "no such symbol in the store: the feed has not named it, or store.instruments in mdh's "
           "configuration is too small for it";
  return std::string(prices::to_string(status));
}

std::optional<wire::HistoryKind> kind_of(const PriceArguments& arguments) {
  if (arguments.trades != 0) return wire::HistoryKind::kTrades;
  if (arguments.quotes != 0) return wire::HistoryKind::kQuotes;
  if (arguments.bars == "1s") return wire::HistoryKind::kBars1s;
  if (arguments.bars == "1m") return wire::HistoryKind::kBars1m;
  return std::nullopt;
}

// "30min", as everywhere; "30m" and "2h", as people write of charts.
std::uint64_t span_ns(const std::string& text) {
  if (text.empty()) return 0;
  std::string spelled = text;
  std::int64_t factor = 1;
  if (spelled.back() == 'm') {
    spelled += "in";
  } else if (spelled.back() == 'h') {
    spelled.replace(spelled.size() - 1, 1, "min");
    factor = 60;
  }
  std::int64_t ns = 0;
  try {
    ns = config::parse_duration_ns(spelled);
  } catch (const Error&) {
    throw Error("--last " + text + ": a number with a unit (ms, s, m, h), such as \"30m\"");
  }
  constexpr std::int64_t kDayNs = std::int64_t{86'400} * 1'000'000'000;
  if (ns <= 0 || ns > kDayNs / factor)
    throw Error("--last " + text + ": more than nothing and at most a day");
  return static_cast<std::uint64_t>(ns * factor);
}

// The symbol of a name as the recording has it, which may be longer than the feed's symbols are.
std::string feed_symbol(const PriceArguments& arguments, const std::string& name) {
  return std::string(control::LongNames::read(arguments.from.run_dir).symbol_of(name));
}
std::uint64_t word_of(const std::string& symbol) {
  return symbol.size() > sizeof(std::uint64_t) ? 0 : wire::symbol_word(symbol);
}

// On stderr, and the command fails; what there is has been shown.
void tell(const std::vector<std::string>& problems) {
  if (problems.empty()) return;
  std::fflush(stdout);
  for (const std::string& problem : problems)
    std::fprintf(stderr, "tickpath: %s\n", problem.c_str());
  throw Exit{1};
}

void show_state(const wire::StoreInfo& info) {
  std::printf("exchange's clock %s, feed %s\n", time_of_day_text(info.clock_ns).c_str(),
              std::string(wire::name(static_cast<wire::FeedState>(info.state))).c_str());
}

void show_latest(const PriceArguments& arguments, PriceReader& reader) {
  std::vector<std::uint64_t> words;
  for (const std::string& symbol : arguments.symbols)
    words.push_back(word_of(feed_symbol(arguments, symbol)));
  std::vector<prices::LatestAnswer> answers(words.size());
  PriceReader::require(reader.client().latest_many(words, answers, MdhConnection::kTimeoutMs));
  std::vector<ShownLatest> rows;
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < words.size(); ++i) {
    rows.push_back({arguments.symbols[i], problem_of(answers[i].status), answers[i].prices});
    if (!rows.back().problem.empty())
      problems.push_back(rows.back().symbol + ": " + rows.back().problem);
  }
  if (arguments.json) {
    std::printf("%s\n", control::text_of(latest_json(rows), 2).c_str());
  } else {
    show_state(reader.client().info());
    std::fputs(latest_text(rows).c_str(), stdout);
  }
  tell(problems);
}

void show_ranges(const PriceArguments& arguments, wire::HistoryKind kind, PriceReader& reader) {
  prices::RangeRequest request{.kind = kind, .last_ns = span_ns(arguments.last)};
  request.newest = std::max(arguments.trades, arguments.quotes);
  control::Json all = control::Json::array();
  std::vector<std::string> problems;
  if (!arguments.json) show_state(reader.client().info());
  for (const std::string& symbol : arguments.symbols) {
    ShownRange range{symbol, kind, {}, {}, {}};
    range.answer = reader.client().range(feed_symbol(arguments, symbol), request, range.lines,
                                         MdhConnection::kTimeoutMs);
    PriceReader::require(range.answer.status);
    range.problem = problem_of(range.answer.status);
    if (!range.problem.empty()) problems.push_back(symbol + ": " + range.problem);
    if (arguments.json)
      all.push_back(range_json(range));
    else
      std::fputs(range_text(range).c_str(), stdout);
  }
  if (arguments.json) std::printf("%s\n", control::text_of(all, 2).c_str());
  tell(problems);
}

void run_prices(const PriceArguments& arguments) {
  const std::optional<wire::HistoryKind> kind = kind_of(arguments);
  if (!kind && !arguments.last.empty())
    throw Error("--last says how far back: of --trades N, --quotes N or --bars 1s|1m");
  (void)span_ns(arguments.last);  // before anybody is asked
  PriceReader reader(arguments);
  if (kind)
    show_ranges(arguments, *kind, reader);
  else
    show_latest(arguments, reader);
}

}  // namespace

void add_prices_command(CLI::App& app) {
  auto* command = add_other_command(app, "prices");
  auto arguments = std::make_shared<PriceArguments>();
  command->add_option("symbol", arguments->symbols, "Symbols")->required();
  auto* trades = command->add_option("--trades", arguments->trades, "The newest N trades")
                     ->check(CLI::PositiveNumber);
  auto* quotes = command
                     ->add_option("--quotes", arguments->quotes,
                                  "The newest N changes of the best bid and offer")
                     ->check(CLI::PositiveNumber);
  auto* bars = command
                   ->add_option("--bars", arguments->bars,
                                "Bars of a second or a minute that had trades: open, high, low, "
                                "close, volume, VWAP, trades")
                   ->check(CLI::IsMember({"1s", "1m"}));
  trades->excludes(quotes)->excludes(bars);
  quotes->excludes(bars);
  command->add_option("--last", arguments->last,
                      "Only those of so long before the exchange's clock: 10s, 30m, 1h");
  command->add_flag("--json", arguments->json, "For programs");
  add_mdh_options(*command, arguments->from);
  command->callback([arguments] { run_prices(*arguments); });
}

}  // namespace tickpath::cli
