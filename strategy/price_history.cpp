#include "strategy/price_history.hpp"

#include <utility>

#include "common/base/error.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::strategy {

PriceHistory::PriceHistory(rdma::Device& device, std::string endpoint, std::string name)
    : device_(device),
      endpoint_(std::move(endpoint)),
      name_(std::move(name)),
      connections_(device, nullptr),
      client_(device, "strategy.history"),
      lines_(kEntriesMax) {}

void PriceHistory::maintain(std::uint64_t now_ns) {
  connections_.collect();
  // Relaxed, both: they only say what is wanted, and how it went.
  if (!wanted_.load(std::memory_order_relaxed)) return;
  const bool made = reconnect_.step(now_ns, [this] {
    if (!connections_.connecting()) {
      const wire::Hello hello =
          wire::make_hello(wire::Role::kStrategy, wire::Service::kPrices, name_);
      connections_.start_connect(endpoint_, link::bytes_of(hello), {}, 0, "mdh");
    }
    return connections_.poll_connect().has_value();
  });
  if (made || !reconnect_.error().empty()) refused_.store(!made, std::memory_order_relaxed);
}

HistoryRead PriceHistory::result() const noexcept {
  const prices::RangeAnswer& answer = client_.range_answer();
  return {answer.status, std::span(lines_).first(answer.count), answer};
}

HistoryRead PriceHistory::wait_for(std::uint64_t symbol,
                                   const prices::RangeRequest& request) noexcept {
  try {
    const wire::Hello hello =
        wire::make_hello(wire::Role::kStrategy, wire::Service::kPrices, name_);
    const link::TableConnection made =
        link::connect_tables(device_, endpoint_, link::bytes_of(hello), {}, kWaitMs, "mdh");
    if (made.connection->extras().size() <= wire::PricesGrants::kStore)
      return {prices::PriceStatus::kNoStore, {}, {}};
    client_.attach(*made.connection, made.connection->extras()[wire::PricesGrants::kStore]);
    HistoryRead read;
    read.answer = client_.range(wire::symbol_text(symbol), request, lines_, kWaitMs);
    read.status = read.answer.status;
    lines_.resize(kEntriesMax);
    read.lines = std::span(lines_).first(read.answer.count);
    client_.detach();
    return read;
  } catch (const Error&) {  // mdh is not there, or keeps no prices
    return {prices::PriceStatus::kFailed, {}, {}};
  }
}

// Takes over a connection that was made, and gives one back that has failed.
bool PriceHistory::connected() noexcept {
  if (connection_ != nullptr && connection_->connection->failed()) {
    client_.detach();
    connections_.give_back(std::exchange(connection_, nullptr));
    asked_ = {};
    reconnect_.mark_down();
  }
  if (connection_ == nullptr) {
    connection_ = connections_.take();
    if (connection_ == nullptr) return false;
    const auto extras = connection_->connection->extras();
    if (extras.size() > wire::PricesGrants::kStore)
      client_.attach(*connection_->connection, extras[wire::PricesGrants::kStore]);
  }
  return true;
}

HistoryRead PriceHistory::ask(std::uint32_t owner, std::uint64_t symbol,
                              const prices::RangeRequest& request) noexcept {
  using prices::PriceStatus;
  wanted_.store(true, std::memory_order_relaxed);
  if (!connected())
    return {refused_.load(std::memory_order_relaxed) ? PriceStatus::kFailed : PriceStatus::kPending,
            {},
            {}};
  const Asked wanted{owner, symbol, request};
  connection_->connection->poll();
  if (client_.busy()) {
    if (client_.poll() == PriceStatus::kPending) {
      if (asked_ == wanted || asked_.owner != owner) return {PriceStatus::kPending, {}, {}};
      client_.abandon();
      asked_ = {};
    }
  }
  if (asked_ == wanted) {
    asked_ = {};
    return result();
  }
  // An answer waits for another one who asked; should he not come for it, he may ask anew.
  if (asked_.symbol != 0 && asked_.owner != owner && ++passed_ < kPassedMax)
    return {PriceStatus::kPending, {}, {}};
  passed_ = 0;
  if (!client_.start_range(symbol, request, lines_)) return {PriceStatus::kFailed, {}, {}};
  asked_ = wanted;
  return {PriceStatus::kPending, {}, {}};
}

}  // namespace tickpath::strategy
