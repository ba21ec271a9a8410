#include "strategy/price_history.hpp"

#include <utility>

#include "common/base/error.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/shard.hpp"

namespace tickpath::strategy {

PriceHistory::PriceHistory(rdma::Device& device, std::string endpoint, const std::string& name)
    : link_(device, nullptr, std::move(endpoint),
            wire::make_hello(wire::Role::kStrategy, wire::Service::kPrices, name)),
      client_(device, "strategy.history"),
      lines_(kEntriesMax) {}

HistoryRead PriceHistory::result() const noexcept {
  const prices::RangeAnswer& answer = client_.range_answer();
  return {answer.status, std::span(lines_).first(answer.count), answer};
}

HistoryRead PriceHistory::wait_for(std::uint64_t symbol,
                                   const prices::RangeRequest& request) noexcept {
  try {
    const std::unique_ptr<link::Connection> made = link_.connect(kWaitMs);
    if (made->extras().size() <= wire::PricesGrants::kStore)
      return {prices::PriceStatus::kNoStore, {}, {}};
    client_.attach(*made, made->extras()[wire::PricesGrants::kStore]);
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

bool PriceHistory::connected() noexcept {
  using enum OnDemandConnection::State;
  const OnDemandConnection::State state = link_.look();
  if (state == kLost) {
    client_.detach();
    asked_ = {};
  }
  if (state == kNew) {
    const auto extras = link_.connection().extras();
    if (extras.size() > wire::PricesGrants::kStore)
      client_.attach(link_.connection(), extras[wire::PricesGrants::kStore]);
  }
  return state == kNew || state == kUp;
}

HistoryRead PriceHistory::ask(std::uint32_t owner, std::uint64_t symbol,
                              const prices::RangeRequest& request) noexcept {
  using prices::PriceStatus;
  if (!connected()) return {link_.refused() ? PriceStatus::kFailed : PriceStatus::kPending, {}, {}};
  const Asked wanted{owner, symbol, request};
  link_.connection().poll();
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

PriceHistories::PriceHistories(rdma::Device& device, const std::vector<std::string>& endpoints,
                               const std::string& name) {
  for (const std::string& endpoint : endpoints)
    shards_.push_back(std::make_unique<PriceHistory>(device, endpoint, name));
}

void PriceHistories::maintain(std::uint64_t now_ns) {
  for (const auto& shard : shards_) shard->maintain(now_ns);
}

PriceHistory& PriceHistories::of(std::uint64_t symbol) const noexcept {
  const auto count = static_cast<std::uint8_t>(shards_.size());
  return *shards_[wire::Shard::of(wire::symbol_text(symbol), count).number - 1u];
}

HistoryRead PriceHistories::wait_for(std::uint64_t symbol,
                                     const prices::RangeRequest& request) noexcept {
  return of(symbol).wait_for(symbol, request);
}

HistoryRead PriceHistories::ask(std::uint32_t owner, std::uint64_t symbol,
                                const prices::RangeRequest& request) noexcept {
  return of(symbol).ask(owner, symbol, request);
}

}  // namespace tickpath::strategy
