#include "tools/cli/routed_run.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/control/run_directory.hpp"
#include "common/trace/hosts.hpp"
#include "common/trace/reader.hpp"
#include "strategy/route_file.hpp"
#include "tools/cli/conservation.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/route_decision.hpp"
#include "tools/history/recording_identity.hpp"
#include "tools/history/trace_source.hpp"

namespace tickpath::cli {
namespace {

namespace fs = std::filesystem;
using strategy::LeftOut;
using strategy::RecordedLife;
using strategy::RouteRecord;

// In order, so that two runs of the command say the same.
std::vector<fs::path> files_in(const std::vector<std::string>& run_dirs, const char* ending) {
  std::vector<fs::path> paths;
  for (const std::string& run_dir : run_dirs) {
    if (!fs::is_directory(run_dir)) throw Error("there is no run directory " + run_dir);
    for (const auto& entry : fs::directory_iterator(run_dir))
      if (entry.path().extension() == ending) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

// When the exchanges sent what, and matched whose order: by the stamps of sim, on one clock.
class ExchangeTimes {
 public:
  explicit ExchangeTimes(const std::vector<std::string>& run_dirs) {
    for (const fs::path& path : files_in(run_dirs, ".trace")) files_.emplace_back(path);
    if (files_.empty()) return;
    clocks_.emplace(files_);
    for (const trace::TraceFile& file : files_)
      if (std::string_view(file.header().program).starts_with("sim")) read(file);
    for (auto& [venue, sent] : sent_) std::ranges::sort(sent);
  }

  // CLOCK_REALTIME when the first of the exchanges began; 0: not known.
  std::int64_t started_ns() const { return started_ns_; }

  // The last message that was on the feed. 0: not known.
  std::uint64_t sent_by(std::uint8_t venue, std::uint64_t host_id, std::uint64_t tsc) const {
    const auto venue_sent = sent_.find(venue);
    if (venue_sent == sent_.end()) return 0;
    const auto host = std::ranges::find(clocks_->hosts(), host_id, &trace::Host::id);
    if (host == clocks_->hosts().end()) return 0;
    const auto index = static_cast<std::size_t>(host - clocks_->hosts().begin());
    if (!clocks_->comparable(index, hosts_.at(venue))) return 0;
    return sent_by(venue_sent->second, clocks_->to_reference(index, static_cast<double>(tsc)));
  }
  std::uint64_t sent_by_match(std::uint8_t venue, std::uint64_t order_id) const {
    const auto venue_sent = sent_.find(venue);
    const auto matched = matched_.find(order_id & trace::kIdMask);
    if (venue_sent == sent_.end() || matched == matched_.end()) return 0;
    return sent_by(venue_sent->second, matched->second);
  }

 private:
  using Sent = std::vector<std::pair<double, std::uint64_t>>;  // time, message

  void read(const trace::TraceFile& file) {
    const auto venue = static_cast<std::uint8_t>(file.header().venue);
    const std::size_t host = clocks_->index_of(file);
    hosts_[venue] = host;
    const std::int64_t started = history::started_ns(file);
    if (started_ns_ == 0 || started < started_ns_) started_ns_ = started;
    file.for_each([&](const trace::Record& record) {
      const auto hop = static_cast<trace::Hop>(record.key >> 56);
      const std::uint64_t id = record.key & trace::kIdMask;
      const double at = clocks_->to_reference(host, static_cast<double>(record.time));
      if (hop == trace::Hop::kSimSent)
        sent_[venue].emplace_back(at, trace::sequence_of_tick(id));
      else if (hop == trace::Hop::kSimMatched)
        matched_.try_emplace(id, at);
    });
  }
  static std::uint64_t sent_by(const Sent& sent, double at) {
    const auto after = std::ranges::upper_bound(sent, at, {}, &Sent::value_type::first);
    return after == sent.begin() ? 0 : std::prev(after)->second;
  }

  std::vector<trace::TraceFile> files_;
  std::optional<trace::HostClocks> clocks_;
  std::int64_t started_ns_ = 0;
  std::map<std::uint8_t, Sent> sent_;          // by venue
  std::map<std::uint8_t, std::size_t> hosts_;  // by venue, as HostClocks has them
  std::unordered_map<std::uint64_t, double> matched_;
};

class Gatherer {
 public:
  Gatherer(const std::vector<std::string>& run_dirs,
           const std::map<std::uint8_t, std::string>& recordings)
      : run_dirs_(run_dirs),
        recordings_(recordings),
        times_(run_dirs),
        summaries_(read_summaries(run_dirs)) {}

  RoutedRun run() {
    const std::vector<fs::path> files = files_in(run_dirs_, ".routes");
    if (files.empty())
      throw Error("no strategy program has recorded what it routed in " + run_dirs_.front() +
                  " (routes.bytes_max of its configuration)");
    for (const fs::path& file : files) take_file(file);
    read_journals();
    read_books();
    return std::move(run_);
  }

 private:
  void unchecked(std::string what) { run_.unchecked.push_back(std::move(what)); }

  void take_file(const fs::path& path) {
    std::vector<RecordedLife> lives = strategy::read_routes(path);
    // By hand programs are started again in the directory of an earlier run.
    std::erase_if(lives, [&](const RecordedLife& life) {
      const std::int64_t last =
          life.routes.empty() ? life.life.started_ns : life.routes.back().head.written_ns;
      return last < times_.started_ns();
    });
    for (std::size_t i = 0; i < lives.size(); ++i) take_life(path, lives[i], i + 1 == lives.size());
    const std::string name = path.stem();
    const auto summary = std::ranges::find(summaries_, name, &control::Summary::name);
    if (summary == summaries_.end() || !summary->details.contains("routes")) return;
    const std::uint64_t routed = summary->details.at("routes");
    const std::uint64_t told = lives.empty() || !lives.back().ended ? 0 : lives.back().tally.routes;
    if (routed != told)
      unchecked(name + " has routed " + grouped(routed) + " orders, " + path.string() +
                " speaks of " + grouped(told));
  }

  void take_life(const fs::path& path, const RecordedLife& life, bool last) {
    const std::string name = path.stem();
    const std::uint64_t kept = life.routes.size();
    const std::uint64_t known =
        life.ended ? life.tally.routes : (kept == 0 ? 0 : life.routes.back().head.number);
    if (known > kept)
      unchecked(grouped(known - kept) + " orders that " + name + " routed are not recorded (see " +
                "routes_unrecorded and routes_unwritten of its status)");
    if (!life.ended && last && control::RunDirectory::holder(path.parent_path(), name) != 0)
      unchecked(name + " still runs: what it routes from now on");
    else if (!life.ended)
      unchecked(name + " was killed: what it had routed last may not be recorded");
    for (const RouteRecord& record : life.routes) {
      RoutedDecision decision{record, {}, {}};
      for (std::size_t i = 0; i < record.head.venue_count; ++i) {
        const strategy::RouteVenue& venue = record.venues[i];
        decision.sent_at_decision[i] =
            times_.sent_by(venue.venue, life.life.host_id, record.head.decided);
        if (venue.order_id != 0)
          decision.sent_at_match[i] = times_.sent_by_match(venue.venue, venue.order_id);
      }
      run_.decisions.push_back(decision);
    }
  }

  void read_journals() {
    std::unordered_map<std::uint64_t, RoutedFate> wanted;
    for (const RoutedDecision& each : run_.decisions)
      for (const strategy::RouteVenue& venue : each.record.venues)
        if (venue.order_id != 0) wanted[venue.order_id];
    for (const fs::path& path : files_in(run_dirs_, ".journal")) try {
        const Trades trades = read_trades(path);
        std::unordered_map<std::uint64_t, RoutedFate> fates;
        for (const TradedOrder& order : trades.orders)
          if (wanted.contains(order.id)) fates[order.id].order = order;
        for (const TradedFill& fill : trades.fills)
          if (const auto of = fates.find(fill.order_id);
              of != fates.end() && fill.kind == wire::ReportKind::kFill)
            of->second.fills.push_back(fill);
        // Both oegs of a pair have it; the one that led has all of it.
        for (auto& [id, fate] : fates)
          if (const auto known = run_.fates.find(id);
              known == run_.fates.end() || known->second.fills.size() < fate.fills.size())
            run_.fates.insert_or_assign(id, std::move(fate));
      } catch (const Error& error) {
        unchecked(error.what());
      }
  }

  // What the sim of a venue has replayed, and how much of it. Empty: not known. Throws Error where
  // the file has other messages by now.
  std::pair<std::string, std::uint64_t> recording_of(std::uint8_t venue) const {
    const auto given = recordings_.find(venue);
    if (given != recordings_.end()) return {given->second, ~std::uint64_t{0}};
    for (const control::Summary& summary : summaries_) {
      if (summary.program != "sim" || summary.venue != venue) continue;
      for (const std::string& run_dir : run_dirs_) {
        std::ifstream in(run_dir + "/" + summary.name + ".ledger.json");
        const auto ledger = nlohmann::json::parse(in, nullptr, false);
        if (!ledger.is_object()) continue;
        const std::string path = ledger.value("recording", "");
        const auto replayed =
            history::known_digest(ledger.value("recording_messages", std::uint64_t{0}),
                                  ledger.value("recording_digest", ""), summary.name + " replayed");
        if (replayed)
          (void)history::identify(path, ledger.value("recording_stock", ""), 0, std::nullopt,
                                  {*replayed});
        return {path, summary.feed_messages};
      }
    }
    return {};
  }

  void read_books() {
    for (const RoutedDecision& each : run_.decisions)
      for (std::size_t i = 0; i < each.record.head.venue_count; ++i) {
        const strategy::RouteVenue& venue = each.record.venues[i];
        if (venue.left_out != LeftOut::kNo) continue;
        const std::string symbol = symbol_of(each.record.head);
        for (const std::uint64_t tick :
             {venue.update_tick, venue.image_tick, each.sent_at_decision[i], each.sent_at_match[i]})
          run_.books[venue.venue].want(tick, symbol);
      }
    for (auto& [venue, books] : run_.books) try {
        const auto [path, messages] = recording_of(venue);
        if (path.empty())
          unchecked(
              formatted("venue %u: no sim of it has left a ledger; --recording %u=FILE names "
                        "what was on its feed",
                        unsigned{venue}, unsigned{venue}));
        else
          books.read(path, messages);
      } catch (const Error& error) {
        unchecked(formatted("venue %u: ", unsigned{venue}) + error.what());
      }
  }

  const std::vector<std::string>& run_dirs_;
  const std::map<std::uint8_t, std::string>& recordings_;
  ExchangeTimes times_;
  std::vector<control::Summary> summaries_;
  RoutedRun run_;
};

}  // namespace

RoutedRun read_routed_run(const std::vector<std::string>& run_dirs,
                          const std::map<std::uint8_t, std::string>& recordings) {
  return Gatherer(run_dirs, recordings).run();
}

}  // namespace tickpath::cli
