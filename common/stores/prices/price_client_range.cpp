// Ranges: the ring is found, its entries are searched by time, then read piece by piece.
#include <algorithm>

#include "common/stores/prices/price_client.hpp"

namespace tickpath::prices {
namespace {

bool is_bar(wire::HistoryKind kind) noexcept { return wire::length_ns(kind) != 0; }

}  // namespace

// The row is whole. Each word of the head is as it was at some moment: every READ of lines has the
// head before and behind it, and these two say which lines may be believed.
void PriceClient::begin_range(const wire::PriceRow& row, const wire::RingHead& head,
                              const wire::StoreInfo& info) noexcept {
  Range& range = range_;
  const auto kind = static_cast<std::size_t>(range.request.kind);
  const std::uint64_t depth = wire::RingHead::depth_of(head.location);
  if (depth > store_.lines[kind] ||
      wire::RingHead::line_of(head.location) > store_.lines[kind] - depth)
    return end_range(PriceStatus::kNoStore);
  range.answer = {};
  range.answer.clock_ns = info.clock_ns;
  range.answer.day = row.latest.day;
  if (range.request.last_ns != 0 && info.clock_ns > range.request.last_ns)
    range.request.from_ns = std::max(range.request.from_ns, info.clock_ns - range.request.last_ns);
  note_current(row.latest);
  range.location = head.location;
  range.day_first = head.day_first;
  range.end = head.written;
  range.begin = std::min(oldest_entry(head), range.end);
  range.early = range.begin;
  range.late = range.end;
  range.end_found = range.request.newest == 0 || range.request.to_ns == ~std::uint64_t{0};
  if (range.end_found) take_newest();
  go_on();
}

// Leaves the newest ones that were asked for, once `end` is known: the first entry that is not
// before to_ns.
void PriceClient::take_newest() noexcept {
  Range& range = range_;
  range.earlier_seen = range.request.newest != 0 && range.end - range.begin > range.request.newest;
  if (range.earlier_seen) range.begin = range.end - range.request.newest;
  range.answer.first = range.begin;
  range.late = range.end;
  range.searched = range.request.from_ns == 0;
}

// A bar that is not in its ring yet.
void PriceClient::note_current(const wire::LatestPrices& latest) noexcept {
  if (!is_bar(range_.request.kind)) return;
  const wire::PriceBar& bar =
      range_.request.kind == wire::HistoryKind::kBars1s ? latest.bar_1s : latest.bar_1m;
  if (bar.trades == 0 || bar.start_ns < range_.request.from_ns ||
      bar.start_ns >= range_.request.to_ns)
    return;
  range_.answer.current = bar;
  range_.answer.current_final =
      range_.answer.clock_ns >= bar.start_ns + wire::length_ns(range_.request.kind);
}

// The next doorbell: a probe in the middle of what is searched, or the next piece.
void PriceClient::go_on() noexcept {
  Range& range = range_;
  if (!range.end_found) {
    if (range.early < range.late) return probe(range.early);
    range.end_found = true;
    range.end = range.late;
    take_newest();
  }
  // What one READ brings is sifted after it.
  if (range.late - range.begin <= kLinesAtOnce / 2) range.searched = true;
  if (!range.searched) return probe(range.begin);
  if (range.begin >= range.end) return end_range(PriceStatus::kOk);
  range.asked = range.begin;
  range.asked_end = std::min(range.begin + kLinesAtOnce, range.end);
  ask(0, Stage::kLines);
}

// The entry in the middle of [from, late).
void PriceClient::probe(std::uint64_t from) noexcept {
  range_.asked = from + (range_.late - from) / 2;
  range_.asked_end = range_.asked + 1;
  ask(0, Stage::kProbe);
}

// False: the request goes on otherwise, or has ended.
bool PriceClient::whole_of_doorbell(WholeEntries& whole) noexcept {
  whole = whole_entries(range_.location, range_.asked, range_.asked_end, landing(0).before,
                        landing(0).after);
  bool good = !whole.moved && whole.end == range_.asked_end;
  // What the argument rules out, and a peer that is no store does: never handed out.
  for (std::uint64_t index = whole.begin; good && index < whole.end; ++index)
    good = lines()[index - range_.asked].number == index + 1;
  if (good) return true;
  if (try_again(0)) ask(0, Stage::kRow);  // from the start, in the ring as it is now
  return false;
}

void PriceClient::on_probe() noexcept {
  Range& range = range_;
  WholeEntries whole;
  if (!whole_of_doorbell(whole)) return;
  if (whole.begin == whole.end) {  // overwritten meanwhile, so all before it are
    range.begin = std::min(std::max(range.asked_end, oldest_entry(landing(0).after)), range.end);
    range.early = range.begin;
    range.late = std::max(range.late, range.begin);
    range.answer.first = range.begin;
    range.earlier_seen = false;
  } else if (!range.end_found) {
    if (lines()[0].payload[0] < range.request.to_ns)
      range.early = range.asked_end;
    else
      range.late = range.asked;
  } else if (lines()[0].payload[0] < range.request.from_ns) {
    range.begin = range.asked_end;
    range.answer.first = range.begin;
    range.earlier_seen = true;
  } else {
    range.late = range.asked;
  }
  go_on();
}

void PriceClient::on_lines() noexcept {
  Range& range = range_;
  WholeEntries whole;
  if (!whole_of_doorbell(whole)) return;
  if (whole.begin != range.asked) {
    // The writer has overrun us: what was taken before is old, too, and a gap is nothing to hand
    // out.
    range.answer.count = 0;
    range.answer.first = whole.begin;
    range.earlier_seen = false;
  }
  range.begin = whole.end;
  if (take_lines(whole)) return end_range(PriceStatus::kOk);
  go_on();
}

// True: nothing behind them is wanted.
bool PriceClient::take_lines(const WholeEntries& whole) noexcept {
  Range& range = range_;
  for (std::uint64_t index = whole.begin; index < whole.end; ++index) {
    const wire::HistoryLine& line = lines()[index - range.asked];
    if (line.payload[0] < range.request.from_ns) {
      range.earlier_seen = true;
      range.answer.first = index + 1;
      continue;
    }
    if (line.payload[0] >= range.request.to_ns) return true;
    if (range.answer.count == range.out.size()) {
      range.answer.more = true;
      return true;
    }
    range.out[range.answer.count++] = line;
  }
  return false;
}

void PriceClient::end_range(PriceStatus status) noexcept {
  Range& range = range_;
  RangeAnswer& answer = range.answer;
  answer.status = result_ = status;
  answer.overwritten = !range.earlier_seen && answer.first > range.day_first;
  // The ring was READ after the row: the bar may be in it by now.
  if (answer.count != 0 && range.out[answer.count - 1].payload[0] >= answer.current.start_ns)
    answer.current = {};
  if (answer.current.trades == 0) answer.current_final = false;
  slots_[0] = {};
  in_use_ = 0;
}

}  // namespace tickpath::prices
