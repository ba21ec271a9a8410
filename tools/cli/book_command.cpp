// `tickpath book`: reads the book home by RDMA READ, while mdh's write it.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/clock/clock.hpp"
#include "common/control/json.hpp"
#include "common/control/long_names.hpp"
#include "common/stores/home/reader.hpp"
#include "common/wire/names.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/mdh_connection.hpp"

namespace tickpath::cli {
namespace {

using control::Json;

struct BookArguments {
  std::string symbol;
  std::size_t depth = 5;
  bool watch = false;
  std::uint32_t interval_ms = 500;
  bool json = false;
  MdhArguments from;
};

std::string price_text(std::uint32_t price) {
  return price == 0 ? "-" : formatted("%u.%04u", price / 10'000, price % 10'000);
}

std::string venue_bits_text(std::uint8_t venues) {
  std::string text;
  for (unsigned venue = 0; venue < wire::kVenuesMax; ++venue)
    if ((venues >> venue & 1) != 0) text += (text.empty() ? "" : ",") + std::to_string(venue + 1);
  return text.empty() ? "-" : text;
}

const char* flags_text(std::uint8_t flags) {
  if ((flags & wire::kCrossed) != 0) return ", CROSSED";
  return (flags & wire::kLocked) != 0 ? ", LOCKED" : "";
}

// What the home has of one symbol, at one look.
struct Shown {
  wire::Consolidated best{};
  struct Venue {
    std::uint32_t venue;
    home::BookRead read;
  };
  std::vector<Venue> venues;  // those that list it
};

Shown look(home::HomeReader& reader, std::uint32_t row, const std::string& symbol) {
  const auto need = [&](home::ReadOutcome outcome) {
    if (outcome == home::ReadOutcome::kFailed) throw Error("the book home is gone, or hangs");
    if (outcome == home::ReadOutcome::kTorn)
      throw Error(symbol + ": it changed during every attempt to read it; try again");
    return outcome == home::ReadOutcome::kOk;
  };
  Shown shown;
  (void)need(reader.consolidated(row, shown.best));
  for (std::uint32_t venue = 0; venue < reader.shape().venues; ++venue) {
    home::BookRead read;
    if (need(reader.book(row, venue, read))) shown.venues.push_back({venue, read});
  }
  return shown;
}

double age_ms(std::uint64_t written_realtime_ns) {
  const auto now = static_cast<std::uint64_t>(clock::realtime_ns());
  return now < written_realtime_ns ? 0 : static_cast<double>(now - written_realtime_ns) / 1e6;
}

std::string level_text(const wire::ImageLevel& bid, const wire::ImageLevel& ask) {
  const auto shares = [](const wire::ImageLevel& level) {
    return level.price == 0 ? std::string() : std::to_string(level.shares);
  };
  return formatted("  %10s %12s | %-12s %-10s\n", shares(bid).c_str(),
                   price_text(bid.price).c_str(), price_text(ask.price).c_str(),
                   shares(ask).c_str());
}

std::string book_text(const std::string& symbol, const Shown& shown, std::size_t depth) {
  const wire::Consolidated& best = shown.best;
  std::string text =
      formatted("%s  %u %s | %s %u  (venues %s | %s%s)\n", symbol.c_str(), best.best_bid_shares,
                price_text(best.best_bid).c_str(), price_text(best.best_ask).c_str(),
                best.best_ask_shares, venue_bits_text(best.bid_venues).c_str(),
                venue_bits_text(best.ask_venues).c_str(), flags_text(best.flags));
  for (const Shown::Venue& each : shown.venues) {
    const wire::VenueBook& book = each.read.book;
    text += formatted("venue %u: feed %s, trading %s, written %.1f ms ago%s\n", each.venue + 1,
                      std::string(wire::name(book.image.feed_state())).c_str(),
                      std::string(wire::name(book.image.trading_state())).c_str(),
                      age_ms(book.written_realtime_ns),
                      each.read.alive ? "" : "; ITS WRITER IS GONE: this was its last word");
    for (std::size_t i = 0; i < depth; ++i) {
      const wire::ImageLevel& bid = book.image.bids[i];
      const wire::ImageLevel& ask = book.image.asks[i];
      if (bid.price == 0 && ask.price == 0) break;
      text += level_text(bid, ask);
    }
  }
  return text;
}

Json levels_json(const wire::ImageLevel* levels, std::size_t depth) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < depth && levels[i].price != 0; ++i)
    rows.push_back(
        {{"price", levels[i].price}, {"shares", levels[i].shares}, {"orders", levels[i].orders}});
  return rows;
}

// Prices in 1/10,000.
Json book_json(const std::string& symbol, const Shown& shown, std::size_t depth) {
  const wire::Consolidated& best = shown.best;
  Json venues = Json::array();
  for (const Shown::Venue& each : shown.venues) {
    const wire::BookImage& image = each.read.book.image;
    venues.push_back({{"venue", each.venue + 1},
                      {"writer_alive", each.read.alive},
                      {"feed", wire::name(image.feed_state())},
                      {"trading", wire::name(image.trading_state())},
                      {"sequence", image.trace_id},
                      {"written_realtime_ns", each.read.book.written_realtime_ns},
                      {"bids", levels_json(image.bids, depth)},
                      {"asks", levels_json(image.asks, depth)}});
  }
  return {{"symbol", symbol},
          {"best_bid", best.best_bid},
          {"best_ask", best.best_ask},
          {"best_bid_shares", best.best_bid_shares},
          {"best_ask_shares", best.best_ask_shares},
          {"bid_venues", venue_bits_text(best.bid_venues)},
          {"ask_venues", venue_bits_text(best.ask_venues)},
          {"locked", (best.flags & wire::kLocked) != 0},
          {"crossed", (best.flags & wire::kCrossed) != 0},
          {"venues", venues}};
}

void run_book(const BookArguments& arguments) {
  const std::string endpoint = arguments.from.where();
  const std::string symbol(
      control::LongNames::read(arguments.from.run_dir).symbol_of(arguments.symbol));
  const std::unique_ptr<rdma::Device> device = rdma::open_device(arguments.from.fabric);
  home::HomeReader reader(*device, endpoint, "tickpath", wire::Role::kTool);
  std::uint32_t row = 0;
  const home::ReadOutcome found = reader.find(symbol, row);
  if (found == home::ReadOutcome::kFailed) throw Error("the book home is gone, or hangs");
  if (found != home::ReadOutcome::kOk)
    throw Error(arguments.symbol + ": not in the book home at " + endpoint +
                ": no venue's feed has named it, or home.symbols is too small for it");
  do {
    const Shown shown = look(reader, row, symbol);
    if (arguments.watch && !arguments.json) std::fputs("\x1b[2J\x1b[H", stdout);
    std::fputs(
        arguments.json
            ? (control::text_of(book_json(arguments.symbol, shown, arguments.depth), -1) + "\n")
                  .c_str()
            : book_text(arguments.symbol, shown, arguments.depth).c_str(),
        stdout);
    std::fflush(stdout);
    if (arguments.watch)
      std::this_thread::sleep_for(std::chrono::milliseconds(arguments.interval_ms));
  } while (arguments.watch);
}

}  // namespace

void add_book_command(CLI::App& app) {
  auto* command = add_other_command(app, "book");
  auto arguments = std::make_shared<BookArguments>();
  command->add_option("symbol", arguments->symbol, "Symbol")->required();
  command->add_option("--depth", arguments->depth, "Levels of each side")
      ->check(CLI::Range(std::size_t{1}, wire::kImageLevels))
      ->capture_default_str();
  command->add_flag("--watch", arguments->watch, "Again and again, until Ctrl-C");
  command->add_option("--interval", arguments->interval_ms, "With --watch: milliseconds between")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "For programs; prices in 1/10,000, a line a look");
  add_mdh_options(*command, arguments->from);
  command->callback([arguments] { run_book(*arguments); });
}

}  // namespace tickpath::cli
