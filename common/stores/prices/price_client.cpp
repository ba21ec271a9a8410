#include "common/stores/prices/price_client.hpp"

#include <algorithm>
#include <bit>

#include <sched.h>

#include "common/clock/clock.hpp"
#include "common/link/check_word.hpp"
#include "common/wire/directory.hpp"

namespace tickpath::prices {
namespace {

constexpr std::size_t kRequestsMax = 4;  // of one doorbell

// kTorn: the writer was at work meanwhile.
PriceStatus judge(const wire::PriceRow& row) noexcept {
  if (row.check == 0) return PriceStatus::kNothingYet;
  const wire::LatestPrices& latest = row.latest;
  if (row.check != link::check_word(latest)) return PriceStatus::kTorn;
  return latest.trade.time_ns == 0 && latest.quote.time_ns == 0 ? PriceStatus::kNothingYet
                                                                : PriceStatus::kOk;
}

}  // namespace

std::string_view to_string(PriceStatus status) noexcept {
  switch (status) {
    case PriceStatus::kOk:
      return "ok";
    case PriceStatus::kPending:
      return "no answer in time";
    case PriceStatus::kUnknownSymbol:
      return "the store has no such symbol";
    case PriceStatus::kNothingYet:
      return "nothing yet";
    case PriceStatus::kTorn:
      return "it was being written at every attempt";
    case PriceStatus::kFailed:
      return "the connection has failed";
    case PriceStatus::kNoStore:
      return "what the peer grants is no price store of this version";
  }
  return "unknown";
}

PriceClient::PriceClient(rdma::Device& device, const std::string& name, PriceClientOptions options)
    : OneSidedClient(
          device,
          options.reads_in_flight * sizeof(Landing) + kLinesAtOnce * sizeof(wire::HistoryLine),
          name),
      options_(options),
      rows_(options.symbols_max),
      slots_(options.reads_in_flight),
      posted_slots_(std::bit_ceil(options.reads_in_flight)) {
  remembered_.reserve(options.symbols_max);
  free_.reserve(slots_.size());
  free_all();
}

void PriceClient::free_all() noexcept {
  free_.clear();
  for (std::uint32_t slot = static_cast<std::uint32_t>(slots_.size()); slot-- > 0;)
    free_.push_back(slot);
}

void PriceClient::attach(link::Connection& connection, const rdma::RemoteRegion& region) noexcept {
  detach();
  use(connection);
  remote_ = region;
}

void PriceClient::detach() noexcept {
  abandon();
  leave();
  for (const std::uint64_t symbol : remembered_) rows_.erase(symbol);
  remembered_.clear();
  store_ = {};
  failed_ = false;
}

void PriceClient::abandon() noexcept {
  give_up();
  std::ranges::fill(slots_, Slot{});
  free_all();
  posted_count_ = landed_count_ = handled_count_ = 0;
  in_use_ = waiting_ = 0;
  task_ = Task::kNone;
}

void PriceClient::on_answer(bool success) noexcept {
  ++landed_count_;
  failed_ |= !success;
}

PriceClient::Landing& PriceClient::landing(std::uint32_t slot) noexcept {
  return reinterpret_cast<Landing*>(memory())[slot];
}

wire::HistoryLine* PriceClient::lines() noexcept {
  return reinterpret_cast<wire::HistoryLine*>(memory() + slots_.size() * sizeof(Landing));
}

// ------------------------------------------------------------------------------------- requests

bool PriceClient::start_latest(std::span<const std::uint64_t> symbols,
                               std::span<LatestAnswer> out) noexcept {
  if (!attached() || busy() || failed_ || out.size() < symbols.size()) return false;
  task_ = Task::kLatest;
  result_ = PriceStatus::kPending;
  symbols_ = symbols;
  answers_ = out;
  next_item_ = 0;
  for (LatestAnswer& answer : answers_.first(symbols.size())) answer.status = PriceStatus::kPending;
  if (store_.magic == 0) {
    in_use_ = 1;
    ask(0, Stage::kInfo);
  } else {
    fill_slots();
  }
  return true;
}

bool PriceClient::start_range(std::uint64_t symbol, const RangeRequest& request,
                              std::span<wire::HistoryLine> out) noexcept {
  if (!attached() || busy() || failed_) return false;
  task_ = Task::kRange;
  result_ = PriceStatus::kPending;
  range_ = {};
  range_.symbol = symbol;
  range_.request = request;
  range_.out = out;
  in_use_ = 1;
  if (store_.magic == 0)
    ask(0, Stage::kInfo);
  else
    look_up(0, symbol);
  return true;
}

bool PriceClient::start_info() noexcept {
  if (!attached() || busy() || failed_) return false;
  task_ = Task::kInfo;
  result_ = PriceStatus::kPending;
  in_use_ = 1;
  ask(0, Stage::kInfo);
  return true;
}

PriceStatus PriceClient::poll() noexcept {
  if (task_ == Task::kNone || failed_) return end(PriceStatus::kFailed);
  while (handled_count_ != landed_count_)
    on_landed(posted_slots_[handled_count_++ & (posted_slots_.size() - 1)]);
  if (task_ == Task::kLatest && store_.magic != 0) fill_slots();
  if (waiting_ != 0) [[unlikely]]
    post_waiting();
  if (result_ != PriceStatus::kPending) return end(result_);
  if (task_ == Task::kLatest && in_use_ == 0 && next_item_ == symbols_.size())
    return end(PriceStatus::kOk);
  return PriceStatus::kPending;
}

PriceStatus PriceClient::end(PriceStatus status) noexcept {
  if (task_ == Task::kLatest && status != PriceStatus::kOk)
    for (LatestAnswer& answer : answers_.first(symbols_.size()))
      if (answer.status == PriceStatus::kPending) answer.status = status;
  if (task_ == Task::kRange && range_.answer.status == PriceStatus::kPending)
    range_.answer.status = status;
  if (in_use_ != 0) abandon();
  task_ = Task::kNone;
  return status;
}

void PriceClient::fill_slots() noexcept {
  while (next_item_ < symbols_.size() && !free_.empty()) {
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot].item = static_cast<std::uint32_t>(next_item_++);
    ++in_use_;
    look_up(slot, symbols_[slots_[slot].item]);
  }
}

std::uint64_t PriceClient::symbol_of(std::uint32_t slot) const noexcept {
  return task_ == Task::kRange ? range_.symbol : symbols_[slots_[slot].item];
}

// The end of what a slot stands for.
void PriceClient::settle(std::uint32_t slot, PriceStatus status) noexcept {
  if (task_ == Task::kRange) return end_range(status);
  answers_[slots_[slot].item].status = status;
  slots_[slot] = {};
  free_.push_back(slot);
  --in_use_;
}

bool PriceClient::try_again(std::uint32_t slot) noexcept {
  torn_.add();
  if (++slots_[slot].attempts < kAttemptsMax) return true;
  settle(slot, PriceStatus::kTorn);
  return false;
}

// ------------------------------------------------------------------------------------ doorbells

std::uint64_t PriceClient::row_offset(std::uint32_t slot) const noexcept {
  return store_.rows_offset + std::uint64_t{slots_[slot].row} * sizeof(wire::PriceRow);
}

rdma::WorkRequest PriceClient::fetch(std::uint64_t offset, std::size_t bytes, void* to) noexcept {
  rdma::WorkRequest request = read_of(remote_, bytes);
  request.flags = 0;
  request.local_address = static_cast<std::byte*>(to);
  request.remote_address += offset;
  return request;
}

std::size_t PriceClient::make_requests(std::uint32_t slot,
                                       std::span<rdma::WorkRequest> out) noexcept {
  const Slot& at = slots_[slot];
  Landing& to = landing(slot);
  switch (at.stage) {
    case Stage::kInfo:
      out[0] = fetch(0, sizeof(wire::StoreInfo), &to.info);
      return 1;
    case Stage::kIndex:
      out[0] = fetch(store_.index_offset + at.index_line * sizeof(to.slots), sizeof(to.slots),
                     to.slots.data());
      return 1;
    case Stage::kRow:
      return make_row_requests(slot, out);
    case Stage::kProbe:
    case Stage::kLines:
      return make_line_requests(slot, out);
    case Stage::kFree:
      break;
  }
  return 0;
}

// RC executes READs in order. The clock comes first, so a bar that it calls over has all its trades
// in the row. For a range the head of its ring comes last: the bar before the row's newest is in
// the ring by then. The heads that came with the row may be older than the rest of it.
std::size_t PriceClient::make_row_requests(std::uint32_t slot,
                                           std::span<rdma::WorkRequest> out) noexcept {
  out[0] = fetch(0, sizeof(wire::StoreInfo), &landing(slot).info);
  out[1] = fetch(row_offset(slot), sizeof(wire::PriceRow), &landing(slot).row);
  if (task_ != Task::kRange) return 2;
  out[2] = fetch(head_offset(slot), sizeof(wire::RingHead), &landing(slot).after);
  return 3;
}

std::uint64_t PriceClient::head_offset(std::uint32_t slot) const noexcept {
  return row_offset(slot) + offsetof(wire::PriceRow, rings) +
         static_cast<std::size_t>(range_.request.kind) * sizeof(wire::RingHead);
}

// A look at the head, the lines (in two pieces where the ring ends in between), another look.
std::size_t PriceClient::make_line_requests(std::uint32_t slot,
                                            std::span<rdma::WorkRequest> out) noexcept {
  const auto kind = static_cast<std::size_t>(range_.request.kind);
  const std::uint64_t head = head_offset(slot);
  const std::uint64_t ring = store_.lines_offset[kind] +
                             wire::RingHead::line_of(range_.location) * sizeof(wire::HistoryLine);
  const std::uint64_t depth = wire::RingHead::depth_of(range_.location);
  const std::uint64_t from = range_.asked & (depth - 1);
  const std::uint64_t count = range_.asked_end - range_.asked;
  const std::uint64_t first = std::min(count, depth - from);
  std::size_t made = 0;
  out[made++] = fetch(head, sizeof(wire::RingHead), &landing(slot).before);
  out[made++] =
      fetch(ring + from * sizeof(wire::HistoryLine), first * sizeof(wire::HistoryLine), lines());
  if (count != first)
    out[made++] = fetch(ring, (count - first) * sizeof(wire::HistoryLine), lines() + first);
  out[made++] = fetch(head, sizeof(wire::RingHead), &landing(slot).after);
  return made;
}

rdma::PostStatus PriceClient::post_requests(std::uint32_t slot) noexcept {
  std::array<rdma::WorkRequest, kRequestsMax> requests;
  const std::size_t count = make_requests(slot, requests);
  requests[count - 1].flags = rdma::kSignaled;
  std::size_t accepted = 0;
  return post(std::span(requests).first(count), accepted);
}

// What is asked for most, by itself: without room for what others need.
rdma::PostStatus PriceClient::post_row(std::uint32_t slot) noexcept {
  rdma::WorkRequest request =
      fetch(row_offset(slot), offsetof(wire::PriceRow, reserved), &landing(slot).row);
  request.flags = rdma::kSignaled;
  return post(request);
}

void PriceClient::ask(std::uint32_t slot, Stage stage) noexcept {
  slots_[slot].stage = stage;
  slots_[slot].waits = false;
  switch (stage == Stage::kRow && task_ == Task::kLatest ? post_row(slot) : post_requests(slot)) {
    case rdma::PostStatus::kOk:
      posted_slots_[posted_count_++ & (posted_slots_.size() - 1)] = slot;
      return;
    case rdma::PostStatus::kQueueFull:
      slots_[slot].waits = true;
      ++waiting_;
      return;
    default:
      failed_ = true;
  }
}

void PriceClient::post_waiting() noexcept {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].waits && !failed_) {
      --waiting_;
      ask(slot, slots_[slot].stage);
    }
}

// -------------------------------------------------------------------------------------- answers

void PriceClient::on_landed(std::uint32_t slot) noexcept {
  switch (slots_[slot].stage) {
    case Stage::kInfo:
      return on_info();
    case Stage::kIndex:
      return on_index(slot);
    case Stage::kRow:
      return on_row(slot);
    case Stage::kProbe:
      return on_probe();
    case Stage::kLines:
      return on_lines();
    case Stage::kFree:
      return;
  }
}

void PriceClient::on_info() noexcept {
  const wire::StoreInfo& info = landing(0).info;
  slots_[0] = {};
  in_use_ = 0;
  if (!is_store(info)) {
    result_ = PriceStatus::kNoStore;
    return;
  }
  store_ = info;
  if (task_ == Task::kInfo) result_ = PriceStatus::kOk;
  if (task_ != Task::kRange) return;  // poll() goes on
  in_use_ = 1;
  look_up(0, range_.symbol);
}

// Its words never change, so any READ of them is whole; what they say is not believed unseen, for
// every offset that is computed from them must lie in the region.
bool PriceClient::is_store(const wire::StoreInfo& info) const noexcept {
  const auto fits = [&](std::uint64_t offset, std::uint64_t count, std::uint64_t each) {
    return offset % 8 == 0 && offset <= remote_.length_bytes &&
           count <= (remote_.length_bytes - offset) / each;
  };
  if (remote_.length_bytes < sizeof(wire::StoreInfo) || info.magic != wire::StoreInfo::kMagic ||
      !std::has_single_bit(info.index_slots) || info.index_slots < wire::kSlotsPerIndexLine ||
      !fits(info.index_offset, info.index_slots, sizeof(wire::SymbolSlot)) ||
      !fits(info.rows_offset, info.instruments, sizeof(wire::PriceRow)))
    return false;
  for (std::size_t kind = 0; kind < wire::kHistoryKinds; ++kind)
    if (!fits(info.lines_offset[kind], info.lines[kind], sizeof(wire::HistoryLine))) return false;
  return true;
}

void PriceClient::look_up(std::uint32_t slot, std::uint64_t symbol) noexcept {
  if (symbol == 0) return settle(slot, PriceStatus::kUnknownSymbol);
  const std::uint32_t row = rows_.find(symbol);
  if (row != IdMap::kNone) {
    slots_[slot].row = row;
    return ask(slot, Stage::kRow);
  }
  slots_[slot].index_line =
      wire::index_line_of(symbol, store_.index_slots / wire::kSlotsPerIndexLine);
  slots_[slot].lines_seen = 0;
  ask(slot, Stage::kIndex);
}

void PriceClient::on_index(std::uint32_t slot) noexcept {
  Slot& at = slots_[slot];
  const std::uint64_t symbol = symbol_of(slot);
  const std::uint64_t index_lines = store_.index_slots / wire::kSlotsPerIndexLine;
  for (const wire::SymbolSlot& each : landing(slot).slots) {
    if (each.symbol == 0) return settle(slot, PriceStatus::kUnknownSymbol);
    if (each.symbol != symbol) continue;
    if (each.row_and_1 == 0 || each.row_and_1 > store_.instruments) {  // it is being entered
      if (try_again(slot)) ask(slot, Stage::kIndex);
      return;
    }
    at.row = static_cast<std::uint32_t>(each.row_and_1 - 1);
    if (remembered_.size() < remembered_.capacity() && rows_.insert(symbol, at.row))
      remembered_.push_back(symbol);
    return ask(slot, Stage::kRow);
  }
  if (++at.lines_seen == index_lines) return settle(slot, PriceStatus::kUnknownSymbol);
  at.index_line = (at.index_line + 1) & (index_lines - 1);
  ask(slot, Stage::kIndex);
}

void PriceClient::on_row(std::uint32_t slot) noexcept {
  const Landing& got = landing(slot);
  const PriceStatus status = judge(got.row);
  if (status == PriceStatus::kTorn) {
    if (try_again(slot)) ask(slot, Stage::kRow);
    return;
  }
  if (status != PriceStatus::kOk) return settle(slot, status);
  if (task_ == Task::kRange) return begin_range(got.row, got.after, got.info);
  answers_[slots_[slot].item].prices = got.row.latest;
  settle(slot, PriceStatus::kOk);
}

// ------------------------------------------------------------------------------------- blocking

template <class Pending>
PriceStatus PriceClient::wait(Pending&& pending, std::uint32_t timeout_ms) noexcept {
  std::int64_t end_ns = 0;
  for (std::uint32_t polls = 1;; ++polls) {
    connection().poll();
    const PriceStatus status = pending();
    if (status != PriceStatus::kPending) return status;
    // The clock costs as much as a READ of this host's memory.
    if ((polls & 0x3f) != 0) continue;
    const std::int64_t now_ns = clock::monotonic_ns();
    if (end_ns == 0) end_ns = now_ns + std::int64_t{timeout_ms} * 1'000'000;
    if (now_ns > end_ns) {
      abandon();
      return status;
    }
    sched_yield();  // the owner may need this core to finish what it writes
  }
}

// One instrument whose row is known, which is what is asked for most: the READ, its check, the
// answer, and none of what several at a time need. False: it is not that, and nothing was done.
bool PriceClient::get_known(std::uint64_t symbol, LatestAnswer& out, PriceStatus& ended,
                            std::uint32_t timeout_ms) noexcept {
  if (!attached() || busy() || failed_ || store_.magic == 0) return false;
  const std::uint32_t row = rows_.find(symbol);
  if (row == IdMap::kNone) return false;
  slots_[0].row = row;
  const wire::PriceRow& got = landing(0).row;
  const std::uint64_t landed_before = landed_count_;
  for (std::uint32_t attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (post_row(0) != rdma::PostStatus::kOk) return false;
    ended = wait(
        [&] { return landed_count_ == landed_before ? PriceStatus::kPending : PriceStatus::kOk; },
        timeout_ms);
    if (ended == PriceStatus::kPending) return true;  // wait() has given it up
    landed_count_ = landed_before;                    // it stood in no slot
    if (failed_) {
      out.status = ended = PriceStatus::kFailed;
      return true;
    }
    const PriceStatus status = judge(got);
    if (status != PriceStatus::kTorn) {
      if (status == PriceStatus::kOk) out.prices = got.latest;
      out.status = status;
      return true;
    }
    torn_.add();
  }
  out.status = PriceStatus::kTorn;
  return true;
}

PriceStatus PriceClient::read_info(std::uint32_t timeout_ms) noexcept {
  if (!start_info()) return PriceStatus::kFailed;
  return wait([&] { return poll(); }, timeout_ms);
}

PriceStatus PriceClient::get(std::string_view symbol, wire::LatestPrices& out,
                             std::uint32_t timeout_ms) noexcept {
  const std::uint64_t word = symbol.size() > 8 ? 0 : wire::symbol_word(symbol);
  LatestAnswer answer;
  const PriceStatus status = latest_many({&word, 1}, {&answer, 1}, timeout_ms);
  if (status != PriceStatus::kOk) return status;
  out = answer.prices;
  return answer.status;
}

PriceStatus PriceClient::latest_many(std::span<const std::uint64_t> symbols,
                                     std::span<LatestAnswer> out,
                                     std::uint32_t timeout_ms) noexcept {
  PriceStatus ended = PriceStatus::kPending;
  if (symbols.size() == 1 && !out.empty()) {
    out[0].status = PriceStatus::kPending;
    if (get_known(symbols[0], out[0], ended, timeout_ms)) return ended;
  }
  if (!start_latest(symbols, out)) return PriceStatus::kFailed;
  return wait([&] { return poll(); }, timeout_ms);
}

RangeAnswer PriceClient::range(std::string_view symbol, const RangeRequest& request,
                               std::vector<wire::HistoryLine>& out, std::uint32_t timeout_ms) {
  const std::uint64_t word = symbol.size() > 8 ? 0 : wire::symbol_word(symbol);
  std::size_t room = kLinesAtOnce;
  for (;; room *= 4) {
    out.resize(room);
    RangeAnswer failed;
    failed.status = PriceStatus::kFailed;
    if (!start_range(word, request, out)) return failed;
    if (wait([&] { return poll(); }, timeout_ms) == PriceStatus::kPending)
      range_.answer.status = PriceStatus::kPending;
    if (range_.answer.more) continue;  // from the start: entries are never so many that it matters
    out.resize(range_.answer.count);
    return range_.answer;
  }
}

}  // namespace tickpath::prices
