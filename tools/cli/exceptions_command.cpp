#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/control/admin_client.hpp"
#include "oeg/exceptions.hpp"
#include "tools/cli/commands.hpp"

namespace tickpath::cli {
namespace {

struct ExceptionArguments {
  std::vector<std::uint64_t> clear;
  bool all = false;
  std::uint64_t id = 0;  // to book, or to clear by an adjustment; 0: none
  int strategy = -1;     // -1: the exception's
  std::string symbol;
  std::int64_t shares = 0;
  std::string price;
  std::string by;
  bool json = false;
  std::string run_dir = "run";
  std::string oeg = "oeg";
};

control::Json ask(const ExceptionArguments& arguments, const control::Json& request) {
  return control::admin_command(control::admin_path(arguments.run_dir, arguments.oeg), request);
}

struct Listed {
  control::Json open = control::Json::array();
  std::uint64_t beyond = 0;  // in oeg's file alone
};

// oeg tells some at a time.
Listed ask_for_all(const ExceptionArguments& arguments) {
  Listed all;
  std::uint64_t last = 0;
  for (bool more = true; more;) {
    const control::Json answer = ask(arguments, {{"command", "exceptions"}, {"after", last}});
    for (const control::Json& one : answer.at("open")) {
      last = one.at("id").get<std::uint64_t>();
      all.open.push_back(one);
    }
    more = answer.at("more").get<bool>();
    all.beyond = answer.at("beyond").get<std::uint64_t>();
  }
  return all;
}

void print(const control::Json& open) {
  for (const control::Json& one : open) {
    const std::string strategy =
        one.contains("strategy") ? "strategy " + one.at("strategy").dump() : "no strategy known";
    std::printf("%s  %s, %s, %s, message %s\n    %s\n    %s\n", one.at("id").dump().c_str(),
                one.at("kind").get<std::string>().c_str(),
                one.at("symbol").get<std::string>().c_str(), strategy.c_str(),
                one.at("fix_seq").dump().c_str(), one.at("explanation").get<std::string>().c_str(),
                one.at("message").get<std::string>().c_str());
  }
  if (open.empty()) std::printf("no exceptions are open\n");
}

void list(const ExceptionArguments& arguments) {
  const Listed listed = ask_for_all(arguments);
  if (arguments.json) {
    std::printf("%s\n", listed.open.dump(2).c_str());
    return;
  }
  print(listed.open);
  if (listed.beyond != 0)
    std::printf("%llu more are in oeg's file, and are listed when these are cleared\n",
                static_cast<unsigned long long>(listed.beyond));
}

void clear(const ExceptionArguments& arguments) {
  std::vector<std::uint64_t> ids = arguments.clear;
  if (arguments.all)
    for (const control::Json& one : ask_for_all(arguments).open)
      ids.push_back(one.at("id").get<std::uint64_t>());
  constexpr std::size_t kAtOnce = oeg::ExceptionList::kAtOnceMax;
  std::uint64_t cleared = 0;
  for (std::size_t at = 0; at < ids.size(); at += kAtOnce) {
    const std::span<const std::uint64_t> some =
        std::span(ids).subspan(at, std::min(kAtOnce, ids.size() - at));
    cleared +=
        ask(arguments, {{"command", "clear_exceptions"}, {"ids", some}, {"by", arguments.by}})
            .at("cleared")
            .get<std::uint64_t>();
  }
  std::printf("%llu cleared\n", static_cast<unsigned long long>(cleared));
}

void book(const ExceptionArguments& arguments) {
  control::Json request = {
      {"command", "book_exception"}, {"id", arguments.id}, {"by", arguments.by}};
  if (arguments.strategy >= 0) request["strategy"] = static_cast<unsigned>(arguments.strategy);
  (void)ask(arguments, request);
  std::printf("exception %llu is booked and cleared\n",
              static_cast<unsigned long long>(arguments.id));
}

void adjust(const ExceptionArguments& arguments) {
  control::Json request = {
      {"command", "adjust_position"}, {"strategy", static_cast<unsigned>(arguments.strategy)},
      {"symbol", arguments.symbol},   {"shares", arguments.shares},
      {"price", arguments.price},     {"by", arguments.by}};
  if (arguments.id != 0) request["id"] = arguments.id;
  (void)ask(arguments, request);
  std::printf("strategy %d: %lld %s at %s\n", arguments.strategy,
              static_cast<long long>(arguments.shares), arguments.symbol.c_str(),
              arguments.price.c_str());
}

using Arguments = std::shared_ptr<ExceptionArguments>;

void add_place(CLI::App& command, const Arguments& arguments) {
  command.add_option("--run-dir", arguments->run_dir, "Where oeg runs")->capture_default_str();
  command.add_option("--oeg", arguments->oeg, "Instance name of oeg")->capture_default_str();
}

void add_book(CLI::App& exceptions, const Arguments& arguments) {
  auto* command = exceptions.add_subcommand(
      "book", "Book the fill of an exception as the venue reported it, and clear it");
  command->add_option("id", arguments->id, "Number of the exception")->required();
  command
      ->add_option("--strategy", arguments->strategy,
                   "Whose trade it was, where the exception names none")
      ->check(CLI::Range(0, 254));
  command->add_option("--by", arguments->by, "Who books it; goes into the file")->required();
  add_place(*command, arguments);
  command->callback([arguments] { book(*arguments); });
}

void add_adjust(CLI::App& exceptions, const Arguments& arguments) {
  auto* command = exceptions.add_subcommand(
      "adjust", "Book a trade that is in no exception, so that a position is what the venue has");
  command->add_option("--strategy", arguments->strategy, "Whose position it is")
      ->check(CLI::Range(0, 254))
      ->required();
  command->add_option("--symbol", arguments->symbol, "Symbol")->required();
  command->add_option("--shares", arguments->shares, "Bought; below 0: sold")->required();
  command->add_option("--price", arguments->price, "Of a share, up to six decimals")->required();
  command->add_option("--clear", arguments->id, "Number of the exception that is settled by it");
  command->add_option("--by", arguments->by, "Who adjusts it; goes into the file")->required();
  add_place(*command, arguments);
  command->callback([arguments] { adjust(*arguments); });
}

}  // namespace

void add_exceptions_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "exceptions", "List the venue's reports that oeg could not book, clear or book them");
  auto arguments = std::make_shared<ExceptionArguments>();
  auto* ids = command->add_option("--clear", arguments->clear,
                                  "Numbers of exceptions that were looked at: off the list");
  auto* all = command->add_flag("--clear-all", arguments->all, "Clear all that are listed now");
  auto* by = command->add_option("--by", arguments->by, "Who looked at them; goes into the file");
  ids->excludes(all)->needs(by);
  all->needs(by);
  command->add_flag("--json", arguments->json, "The list as JSON");
  add_place(*command, arguments);
  add_book(*command, arguments);
  add_adjust(*command, arguments);
  command->callback([command, arguments] {
    if (!command->get_subcommands().empty()) return;
    if (arguments->all || !arguments->clear.empty())
      clear(*arguments);
    else
      list(*arguments);
  });
}

}  // namespace tickpath::cli
