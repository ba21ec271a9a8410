#include "mdh/application.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "common/control/ring_flows.hpp"
#include "common/link/clock_exchange.hpp"
#include "common/link/heartbeat.hpp"
#include "common/log/log.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/names.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {
namespace {

// Strategies cannot take these places of subscribers: a gateway, its standby and their risks hear
// the market, too.
constexpr std::size_t kKeptPlaces = 4;
constexpr std::size_t kStrategiesMax = link::kSubscribersMax - kKeptPlaces;

using Weight = control::Counters::Weight;

std::string session_text(const FeedCounters& counters) {
  std::string text(10, ' ');
  const std::uint64_t head = counters.session_text[0].get();
  const std::uint64_t tail = counters.session_text[1].get();
  std::memcpy(text.data(), &head, 8);
  std::memcpy(text.data() + 8, &tail, 2);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}

// No shard leaves these out: system events, those of the whole market, and what cannot be read.
std::uint64_t messages_of_no_symbol(const feeds::LiveFormat& format, const FeedCounters& feed) {
  std::uint64_t count = feed.malformed_messages.get();
  for (const char type : format.types_of_no_symbol)
    count += feed.by_type[static_cast<std::size_t>(type)].get();
  return count;
}

std::chrono::sys_days today() {
  const std::chrono::sys_time<std::chrono::nanoseconds> now{
      std::chrono::nanoseconds(clock::realtime_ns())};
  return std::chrono::floor<std::chrono::days>(now);
}

link::PublisherOptions publisher_options(const MdhConfig& config, const std::string& name) {
  link::PublisherOptions options;
  options.name = "mdh.books";
  options.image_count = config.instruments_max;
  options.depth_max = config.publish.ring_slots_max;
  options.images_per_flush = config.publish.images_per_flush;
  if (config.publish.mode == PublishMode::kMulticast) {
    options.multicast.group =
        group_of(config.publish, config.common.fabric.provider, config.common.run_dir, name);
    options.multicast.depth = config.publish.history;
    options.multicast.datagram_bytes_max = config.publish.datagram_bytes;
  }
  return options;
}

}  // namespace

MdhApplication::MdhApplication(const MdhConfig& config, control::Runtime& runtime)
    : config_(config),
      runtime_(runtime),
      symbol_file_(config.instruments_file),
      channel_(runtime.device().create_channel()),
      home_(config, runtime, channel_.get()),
      readers_(runtime.device()) {
  define_notes(runtime.hot_log());
  rdma::Device& device = runtime.device();
  publisher_ = std::make_unique<BookPublisher>(device, channel_.get(),
                                               publisher_options(config, runtime.name()));
  directory_ = std::make_unique<DirectoryTable>(device, config.instruments_max, "mdh.directory");
  if (config.store.enabled) {
    log::info("store: prices of {} instruments take {} MiB", config.store.instruments,
              (prices::store_bytes(config.store) + (1u << 20) - 1) >> 20);
    store_ = std::make_unique<prices::PriceStore>(device, config.store, config.instruments_max,
                                                  "mdh.prices");
  }
  if (config.values_keys != 0) {
    values_ = std::make_unique<values::ValueOwner>(device, config.values_keys,
                                                   config.values_writers, "mdh.values");
    log::info("keeps shared values: {} keys, {} writers, {} MiB", config.values_keys,
              config.values_writers, values_->bytes() >> 20);
  }
  datapath_ =
      std::make_unique<MdhDatapath>(config, *publisher_, *directory_, store_.get(), channel_.get(),
                                    runtime.trace(), runtime.hot_log(), home_.writer());
  remember_symbols();
  listener_ = device.listen(runtime.common().fabric_endpoint);
  register_counters();
  const int granted = datapath_->receiver().receive_buffer_bytes();
  if (granted < config.feed_receive_buffer_bytes)
    log::info(
        "feed.receive_buffer: {} bytes were asked for, the kernel grants {} "
        "(net.core.rmem_max)",
        config.feed_receive_buffer_bytes, granted);
}

void MdhApplication::on_start() {
  watch_ = runtime_.watch(listener_->file_descriptor(), [this] {
    admission_.serve(*listener_, [this](rdma::ConnectionRequest& request) { accept(request); });
  });
  log::info("feed {} on {}; subscribers at {}", config::format_address(config_.feed.group),
            config_.feed.interface, listener_->endpoint());
  if (publisher_->multicast() != nullptr) {
    const link::MulticastInvitation& told = publisher_->multicast()->invitation();
    log::info("publish: by multicast to {}, datagrams of up to {} bytes", told.group,
              told.part.datagram_bytes);
  }
  if (!config_.shard.empty())
    log::info("feed: the books of shard {} are kept here; other symbols are passed over",
              config_.shard);
  if (config_.feed.source.empty())
    log::warning(
        "feed.source is not set: whoever sends to the group first is taken for the exchange");
  if (!config_.feed.group_b.empty())
    log::info("feed: redundant line B {} on {}", config_.feed.group_b,
              config_.feed.interface_b.empty() ? config_.feed.interface : config_.feed.interface_b);
  if (!config_.retransmission_server.empty())
    log::info("feed: lost messages are asked for at {}", config_.retransmission_server);
  if (datapath_->snapshots() != nullptr)
    log::info("feed: snapshots are asked for at {}", config_.snapshot_server);
}

void MdhApplication::on_tick() {
  publisher_->collect();
  readers_.collect();
  home_.tick();
  if (values_) values_->collect();
  tell_departed();
  tell_multicast_lost();
  keep_symbols();
}

// Subscribers go on: what comes by multicast no more, they READ.
void MdhApplication::tell_multicast_lost() {
  if (publisher_->multicast() == nullptr) return;
  const std::string for_good = publisher_->multicast()->error_text();
  const std::string why = for_good.empty() ? publisher_->multicast()->group_lost() : for_good;
  if (!why.empty() && !multicast_lost_)
    log::error(
        "publish: datagrams reach nobody ({}); subscribers READ every update, which is slower, "
        "until {}",
        why,
        for_good.empty() ? "the group is joined again, which is tried once a second"
                         : "mdh is started again");
  if (why.empty() && multicast_lost_) log::info("publish: the multicast group is joined again");
  multicast_lost_ = !why.empty();
}

void MdhApplication::remember_symbols() {
  using std::chrono::days;
  symbols_ = symbol_file_.read(config_.instruments_max, today());
  const auto kept = days(config_.instruments_kept_days);
  const std::chrono::sys_days since =
      kept == days(0) ? std::chrono::sys_days::min() : today() - kept;
  datapath_->remember(symbols_, since);
  listed_in_.resize(config_.instruments_max);
  if (symbols_.empty()) return;
  const std::uint64_t rows = datapath_->feed().counters().book.instruments.get();
  log::info(
      "directory: {} symbols keep the ids that they had ({}); those of {}, not named for {} days "
      "or "
      "of another shard, are free for new symbols that find no other",
      rows, config_.instruments_file, symbols_.size() - rows, config_.instruments_kept_days);
}

// What does not reach the disk waits for the next tick.
void MdhApplication::keep_symbols() {
  if (!collect_symbols() || !symbols_unsaved_) return;
  try {
    symbol_file_.write(symbols_);
  } catch (const Error& error) {
    if (!symbol_file_failed_)
      log::error("{}; after a restart instruments may have other ids, and are refused",
                 error.what());
    symbol_file_failed_ = true;
    return;
  }
  symbols_unsaved_ = symbol_file_failed_ = false;
}

// Symbols that the feed has named since, today. False: a row was being written, so that some may be
// missing.
bool MdhApplication::collect_symbols() {
  const std::uint64_t listings = datapath_->feed().counters().listings.get();
  // A counter orders nothing: its row may come into sight later, and the next tick looks again.
  const bool more = std::exchange(listings_seen_, listings) != listings;
  if (!more && !look_again_) return true;
  bool whole = true;
  wire::DirectoryEntry row;
  for (std::size_t at = 0; at < directory_->rows(); ++at) {
    const link::ReadStatus status = directory_->load(at, row);
    if (status == link::ReadStatus::kEmpty) break;
    whole &= status == link::ReadStatus::kOk;
    if (status != link::ReadStatus::kOk || row.listed_in == listed_in_[row.instrument_id]) continue;
    listed_in_[row.instrument_id] = row.listed_in;
    if (row.instrument_id >= symbols_.size()) symbols_.resize(row.instrument_id + std::size_t{1});
    KnownSymbol named{std::string(row.name()), today()};
    symbols_unsaved_ |= named != symbols_[row.instrument_id];
    symbols_[row.instrument_id] = std::move(named);
  }
  look_again_ = more || !whole;
  return whole;
}

// ------------------------------------------------------------------------------- connections

wire::Hello MdhApplication::answer(wire::Service service) const {
  return wire::make_hello(wire::Role::kMdh, service, runtime_.name());
}

// Told when the set-up with this peer is over.
link::Accepted MdhApplication::accepted(const rdma::ConnectionRequest& request,
                                        const wire::Hello& hello) {
  return [this, peer = request.peer(), name = std::string(wire::name_of(hello)),
          service = hello.service](std::uint32_t id, const rdma::SetupError* error) {
    if (error != nullptr) return admission_.failed(peer, error->what());
    std::string what = "reader of tables";
    if (service == wire::Service::kBookUpdates) what = "subscriber " + std::to_string(id);
    if (service == wire::Service::kHomeWrite) what = "writer of the book home";
    if (service == wire::Service::kValues) what = "client of shared values";
    log::info("{}: {}, {}", what, name, peer);
  };
}

void MdhApplication::accept(rdma::ConnectionRequest& request) {
  if (runtime_.stopping()) return request.reject("mdh is stopping");
  const std::optional<wire::Hello> hello = admission_.admit(request);
  if (!hello) return;
  if (hello->service == wire::Service::kHome || hello->service == wire::Service::kHomeWrite) {
    const wire::Hello ours = answer(hello->service);
    if (const std::string why = home_.accept(request, *hello, ours, accepted(request, *hello));
        !why.empty())
      admission_.failed(request.peer(), why);
    return;
  }
  // Its table of rights lets pass nothing but these four.
  if (hello->service == wire::Service::kBookUpdates) return accept_subscriber(request, *hello);
  if (hello->service == wire::Service::kPrices) return accept_price_reader(request, *hello);
  if (hello->service == wire::Service::kValues) return accept_values(request, *hello);
  accept_reader(request, *hello);
}

void MdhApplication::accept_subscriber(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  if (!admission_.admit_shard(request, hello, control::shard_of(config_.shard), "feed.shard"))
    return;
  std::array<rdma::Grant, wire::BookUpdatesGrants::kClock + link::ClockGrants::kCount> extras;
  extras[wire::BookUpdatesGrants::kDirectory] = directory_->grant();
  extras[wire::BookUpdatesGrants::kHeartbeat] = runtime_.heartbeat().grant();
  std::ranges::copy(runtime_.clock().grants(), extras.begin() + wire::BookUpdatesGrants::kClock);
  const wire::Hello ours = answer(hello.service);
  const bool strategy = hello.role == wire::Role::kStrategy;
  if (strategy && !has_place_for_strategy())
    return admission_.refuse(
        request, std::to_string(kStrategiesMax) + " strategies subscribe already; the other " +
                     std::to_string(kKeptPlaces) + " places are kept for gateways and their risks");
  link::Accepted told = accepted(request, hello);
  if (strategy) told = strategy_accepted(std::move(told));
  try {
    publisher_->start_accept(request, link::bytes_of(ours), extras, wire::name_of(hello),
                             std::move(told));
  } catch (...) {
    if (strategy) --strategies_setting_up_;
    throw;
  }
}

bool MdhApplication::has_place_for_strategy() {
  const std::vector<link::SubscriberStatus> all = publisher_->subscribers();
  std::erase_if(strategies_, [&](std::uint32_t id) {
    return std::ranges::find(all, id, &link::SubscriberStatus::id) == all.end();
  });
  return strategies_.size() + strategies_setting_up_ < kStrategiesMax;
}

link::Accepted MdhApplication::strategy_accepted(link::Accepted then) {
  ++strategies_setting_up_;
  return [this, then = std::move(then)](std::uint32_t id, const rdma::SetupError* error) {
    --strategies_setting_up_;
    if (error == nullptr) strategies_.insert(id);
    then(id, error);
  };
}

void MdhApplication::accept_reader(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  std::array<rdma::Grant, 3> grants;
  grants[wire::MdhTablesGrants::kDirectory] = directory_->grant();
  grants[wire::MdhTablesGrants::kImages] = publisher_->image_grant();
  grants[wire::MdhTablesGrants::kHeartbeat] = runtime_.heartbeat().grant();
  const wire::Hello ours = answer(hello.service);
  readers_.start_accept(request, link::bytes_of(ours), grants, 0, accepted(request, hello));
}

void MdhApplication::accept_price_reader(rdma::ConnectionRequest& request,
                                         const wire::Hello& hello) {
  if (!store_)
    return request.reject(
        "no prices are kept here: set store.enabled = true in mdh's configuration");
  std::array<rdma::Grant, 2> grants;
  grants[wire::PricesGrants::kStore] = store_->grant();
  grants[wire::PricesGrants::kHeartbeat] = runtime_.heartbeat().grant();
  const wire::Hello ours = answer(hello.service);
  readers_.start_accept(request, link::bytes_of(ours), grants, 0, accepted(request, hello));
}

void MdhApplication::accept_values(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  if (!values_)
    return request.reject("no shared values are kept here: set values.keys in mdh's configuration");
  const wire::Hello ours = answer(hello.service);
  try {
    values_->start_accept(request, link::bytes_of(ours), hello.parameters[0] != 0, hello.role,
                          accepted(request, hello));
  } catch (const rdma::SetupError& error) {
    admission_.failed(request.peer(), error.what());
  }
}

void MdhApplication::tell_departed() {
  for (; departures_told_ < publisher_->departed().size(); ++departures_told_) {
    const link::SubscriberAccount& account = publisher_->departed()[departures_told_];
    log::info("subscriber {} ({}) {}", account.id, account.name,
              account.lost ? "is lost" : "has left");
  }
}

// ------------------------------------------------------------------------------------- status

void MdhApplication::register_counters() {
  control::Counters& out = runtime_.counters();
  const feeds::LiveFormat& format = datapath_->feed().format();
  const FeedCounters& feed = datapath_->feed().counters();
  out.add("feed", feed,
          {"messages", "gaps", "missed_messages", "conflicting_messages", "bridged_messages"});
  out.add(
      "feed", "strangers", [this] { return datapath_->strangers(); }, Weight::kKey);
  out.add("feed", datapath_->socket_counters(), {"kernel_drops"});
  register_lines(out);
  for (std::size_t type = 0; type < feed.by_type.size(); ++type)
    if (format.is_type(static_cast<char>(type)))
      out.add("messages", std::string(1, static_cast<char>(type)), feed.by_type[type]);
  const book::LevelBookSet& books = datapath_->feed().books();
  out.add("book", feed.book, {"instruments"});
  const book::CrossedBooks& crossed = datapath_->feed().crossed();
  out.add("book", "crossed", crossed.times(), Weight::kKey);
  out.add("book", "crossed_now", crossed.now());
  out.add("book", "crossed_ns", crossed.total_ns());
  out.add("book", "crossed_longest_ns", crossed.longest_ns());
  if (format.wide_prices)
    out.add("book", "unusable_prices", [this] { return datapath_->feed().unusable_prices(); });
  out.add("book", "orders", [&books] { return books.orders_resting(); });
  out.add("book", "orders_max_seen", [&books] { return books.orders_resting_max(); });
  for (std::size_t status = 0; status < book::kStatusCount; ++status)
    out.add("book", book::to_string(static_cast<book::Status>(status)),
            [&books, status] { return books.count(static_cast<book::Status>(status)); });
  const link::PublisherCounters& publish = publisher_->counters();
  out.add("publish", "published", publish.published, Weight::kKey);
  out.add("publish", "slots_posted", publish.slots_posted);
  out.add("publish", "slots_skipped", publish.slots_skipped);
  out.add("publish", "images_flushed", publish.images_flushed);
  if (publisher_->multicast() != nullptr)
    out.add("publish", publisher_->multicast()->counters(), {"datagrams"});
  out.add("publish", "subscribers_lost", publish.subscribers_lost);
  out.add(
      "publish", "subscribers", [this] { return publisher_->subscribers().size(); }, Weight::kKey);
  out.add("publish", "readers", [this] { return readers_.size(); });
  home_.register_counters(out);
  if (store_)
    out.add("store", store_->counters(), {"instruments", "unlisted", "trades", "overwritten"});
  if (values_) {
    out.add("values", "writers", [this] { return values_->writers(); });
    out.add("values", "readers", [this] { return values_->readers(); });
  }
  admission_.register_counters(out, "connections");
  control::Admission::register_bad_peers(out, "connections", listener_);
}

void MdhApplication::register_lines(control::Counters& out) {
  const ArbiterCounters& arbiter = datapath_->arbiter().counters();
  constexpr std::array<const char*, kLines> kNames{"line_a", "line_b", "retransmission"};
  for (std::size_t line = 0; line < kLines; ++line) {
    const bool configured = line == static_cast<std::size_t>(Line::kRetransmission)
                                ? !config_.retransmission_server.empty()
                                : line < datapath_->lines();
    if (!configured) continue;
    out.add(kNames[line], arbiter.lines[line]);
  }
  out.add("arbiter", arbiter, {"given_up", "held_full"});
  const SnapshotClient* const snapshots = datapath_->snapshots();
  if (snapshots == nullptr) return;
  out.add("snapshot", snapshots->counters());
  out.add("snapshot", "taken", arbiter.snapshots);
  out.add("snapshot", "failed", arbiter.snapshots_failed);
}

// The instruments that were crossed most often.
control::Json MdhApplication::crossed_books() const {
  constexpr std::size_t kShown = 10;
  const book::CrossedBooks& crossed = datapath_->feed().crossed();
  std::vector<std::size_t> ids;
  for (std::size_t id = 0; id < crossed.size(); ++id)
    if (crossed[id].times.get() > 0) ids.push_back(id);
  std::ranges::stable_sort(ids, std::ranges::greater{},
                           [&](std::size_t id) { return crossed[id].times.get(); });
  control::Json rows = control::Json::array();
  for (const std::size_t id : ids) {
    if (rows.size() == kShown) break;
    if (id >= symbols_.size()) continue;  // so new that the next tick learns its name
    rows.push_back({{"symbol", symbols_[id].symbol},
                    {"times", crossed[id].times.get()},
                    {"total_ns", crossed[id].total_ns.get()},
                    {"longest_ns", crossed[id].longest_ns.get()},
                    {"now", crossed[id].crossed.get() != 0}});
  }
  return rows;
}

void MdhApplication::describe(control::Json& status) {
  const FeedCounters& feed = datapath_->feed().counters();
  status["feed"] = {{"group", config::format_address(config_.feed.group)},
                    {"source", config_.feed.source},
                    {"shard", config_.shard},
                    {"session", session_text(feed)},
                    {"state", wire::name(static_cast<wire::FeedState>(feed.state.get()))},
                    {"receive_buffer_bytes", datapath_->receiver().receive_buffer_bytes()}};
  status["crossed_books"] = crossed_books();
  home_.describe(status);
  if (store_) status["store"] = {{"bytes", store_->bytes()}};
  if (values_) status["values"] = {{"bytes", values_->bytes()}};
  status["subscribers"] = control::Json::array();
  for (const link::SubscriberStatus& peer : publisher_->subscribers())
    status["subscribers"].push_back({{"name", peer.name},
                                     {"peer", peer.peer},
                                     {"mode", peer.multicast                       ? "multicast"
                                              : peer.mode == link::RingMode::kPoll ? "poll"
                                                                                   : "immediate"},
                                     {"ring_slots", peer.depth},
                                     {"joined_at", peer.join_sequence},
                                     {"skipped", peer.skipped}});
}

// --------------------------------------------------------------------------------------- end

bool MdhApplication::drained(std::string& why) {
  if (datapath_->closed()) return true;
  why = "subscribers have not been told the final count";
  return false;
}

void MdhApplication::on_stopped() {
  watch_.cancel();
  keep_symbols();
}

void MdhApplication::summarize(control::Summary& summary) {
  const FeedCounters& feed = datapath_->feed().counters();
  summary.ticks = control::ring_flows(publisher_->accounts());
  summary.feed_messages = feed.messages.get();
  // A snapshot stands for messages, but nobody was told of them.
  summary.feed_messages_missed = feed.missed_messages.get() + feed.bridged_messages.get();
  std::uint64_t refused = 0;
  for (std::size_t status = 1; status < book::kStatusCount; ++status)
    refused += datapath_->feed().books().count(static_cast<book::Status>(status));
  summary.details["book_refused"] = refused;
  summary.details["malformed_messages"] = feed.malformed_messages.get();
  summary.details["other_shards"] = feed.other_shards.get();
  summary.details["shard"] = control::shard_of(config_.shard).number;
  summary.details["shards"] = control::shard_of(config_.shard).count;
  summary.details["of_no_symbol"] = messages_of_no_symbol(datapath_->feed().format(), feed);
  summary.details["bad_symbols"] = feed.book.bad_symbols.get();
  summary.details["book_crossed"] = datapath_->feed().crossed().times().get();
  summary.details["book_crossed_ns"] = datapath_->feed().crossed().total_ns().get();
  if (!symbols_.empty() && !symbol_file_failed_) summary.files = {config_.instruments_file};
}

}  // namespace tickpath::mdh
