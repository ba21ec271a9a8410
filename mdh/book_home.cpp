#include "mdh/book_home.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "common/link/handshake.hpp"
#include "common/log/log.hpp"

namespace tickpath::mdh {
namespace {

using Weight = control::Counters::Weight;

std::unique_ptr<home::HomeOwner> make_owner(const MdhConfig& config, rdma::Device& device) {
  if (!config.home_keep) return nullptr;
  auto owner = std::make_unique<home::HomeOwner>(
      device, home::HomeShape{config.home_symbols, config.home_venues, config.home_writers},
      "mdh.home");
  log::info("keeps the book home: {} symbols, {} venues, {} writers, {} MiB", config.home_symbols,
            config.home_venues, config.home_writers, owner->layout().total_bytes() >> 20);
  return owner;
}

std::unique_ptr<home::HomeWriter> make_writer(const MdhConfig& config, control::Runtime& runtime,
                                              rdma::CompletionChannel* channel) {
  if (!config.writes_home()) return nullptr;
  home::HomeWriterOptions options;
  options.endpoint =
      config.home_endpoint.empty() ? runtime.common().fabric_endpoint : config.home_endpoint;
  options.name = runtime.name();
  options.venue = config.home_venue();
  options.instruments_max = config.instruments_max;
  options.lease.dead_after_ns = static_cast<std::uint64_t>(config.home_dead_after_ns);
  return std::make_unique<home::HomeWriter>(runtime.device(), channel, options);
}

}  // namespace

BookHome::BookHome(const MdhConfig& config, control::Runtime& runtime,
                   rdma::CompletionChannel* channel)
    : config_(config),
      owner_(make_owner(config, runtime.device())),
      writer_(make_writer(config, runtime, channel)) {}

void BookHome::tick() {
  if (owner_ != nullptr) owner_->collect([this](std::uint32_t lane) { writer_->end_lane(lane); });
  if (writer_ == nullptr) return;
  if (writer_->maintain(static_cast<std::uint64_t>(clock::monotonic_ns())))
    log::info("connected to the book home, as venue {}", config_.home_venue() + 1);
}

std::string BookHome::accept(rdma::ConnectionRequest& request, const wire::Hello& hello,
                             const wire::Hello& answer, link::Accepted accepted) {
  if (owner_ == nullptr) {
    request.reject("this mdh keeps no book home (home.keep)");
    return "it asked for a book home, and this mdh keeps none";
  }
  try {
    if (hello.service == wire::Service::kHomeWrite)
      owner_->start_accept_writer(request, link::bytes_of(answer), wire::name_of(hello),
                                  hello.parameters[0], std::move(accepted));
    else
      owner_->start_accept_reader(request, link::bytes_of(answer), std::move(accepted));
  } catch (const rdma::SetupError& error) {
    return error.what();
  }
  return {};
}

// Strategies and oeg need no home: what is written into it comes when it is there.
std::string BookHome::not_ready_reason() const {
  return owner_ != nullptr ? writer_->not_ready_reason() : std::string();
}

void BookHome::register_counters(control::Counters& out) const {
  if (writer_ == nullptr) return;
  out.add("home", writer_->counters(), {"books"});
  out.add("home lease", writer_->lease_counters());
  if (owner_ != nullptr) {
    out.add(
        "home", "writers", [this] { return owner_->writers().size(); }, Weight::kKey);
    out.add("home", "readers", [this] { return owner_->readers(); });
  }
}

void BookHome::describe(control::Json& status) const {
  if (writer_ == nullptr) return;
  control::Json& home = status["book_home"];
  home = {{"venue", config_.home_venue() + 1},
          {"lane", static_cast<std::int64_t>(writer_->lane().get()) - 1},
          {"waits_for", writer_->not_ready_reason()}};
  if (owner_ == nullptr) return;
  home["writers"] = control::Json::array();
  for (const home::HomeOwner::Writer& writer : owner_->writers())
    home["writers"].push_back({{"lane", writer.lane},
                               {"venue", writer.venue + 1},
                               {"name", writer.name},
                               {"peer", writer.peer}});
}

}  // namespace tickpath::mdh
