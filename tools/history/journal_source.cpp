#include "tools/history/journal_source.hpp"

#include <cstring>
#include <unordered_map>

#include "common/base/error.hpp"
#include "common/trace/stamp.hpp"
#include "common/wire/names.hpp"
#include "tools/history/journal_files.hpp"
#include "tools/history/row_writer.hpp"

namespace tickpath::history {
namespace {

using oeg::JournalRecord;

class Reader {
 public:
  Reader(const JournalSource& source, const EventSink& sink) : source_(source), sink_(sink) {}

  void take(const JournalRecord& record) {
    if (read_.records++ == 0) read_.first_ns = record.realtime_ns;
    read_.last = record.sequence;
    if (record.event.event != wire::EventKind::kNewSession) write(record, root_of(record));
  }
  const JournalRead& result() const noexcept { return read_; }

 private:
  // The order as its strategy first sent it: what a replacement makes has an id of its own.
  std::uint64_t root_of(const JournalRecord& record) {
    const wire::OrderEvent& event = record.event;
    const bool is_new = event.request_kind == wire::RequestKind::kNew;
    // A refused order may have an id that was used before; it is an order of its own.
    if (event.event == wire::EventKind::kRefused) return event.order_id;
    if (event.event == wire::EventKind::kRequested && is_new) {
      roots_[event.order_id] = event.order_id;
      return event.order_id;
    }
    auto found = roots_.find(event.target_order_id);
    if (found == roots_.end()) found = roots_.find(event.order_id);
    if (found == roots_.end()) return 0;  // of an order before this day
    const std::uint64_t root = found->second;
    if (event.event == wire::EventKind::kReported &&
        event.report_kind == wire::ReportKind::kReplaced)
      roots_[event.order_id] = root;
    return root;
  }

  static std::string_view kind(wire::EventKind event) {
    switch (event) {
      case wire::EventKind::kRequested:
        return "requested";
      case wire::EventKind::kRefused:
        return "refused";
      case wire::EventKind::kReported:
        return "reported";
      case wire::EventKind::kException:
        return "exception";
      default:
        return "?";
    }
  }

  void write(const JournalRecord& record, std::uint64_t root) {
    const wire::OrderEvent& event = record.event;
    const bool report =
        event.event == wire::EventKind::kReported || event.event == wire::EventKind::kException;
    const bool asks = event.event == wire::EventKind::kRequested;
    const std::string_view symbol(record.symbol, ::strnlen(record.symbol, sizeof(record.symbol)));
    const bool none = event.reason == trading::RejectReason::kNone;
    row_.clear();
    row_.text(source_.run)
        .number(record.sequence)
        .number(record.realtime_ns)
        .number(day_of(record.realtime_ns))
        .text(source_.names.name_of(symbol))
        .text(kind(event.event))
        .text(report ? "" : wire::name(event.request_kind))
        .text(asks ? "" : wire::name(event.report_kind))
        .number(event.order_id)
        .number(event.target_order_id)
        .number(root)
        .number(trace::is_of_venue(event.trace_id, source_.venue)
                    ? trace::sequence_of_tick(event.trace_id)
                    : 0)
        .number(event.strategy_id)
        .text(event.side == Side::kBuy    ? "buy"
              : event.side == Side::kSell ? "sell"
                                          : "")
        .text(report ? "" : trading::name(record.type))
        .text(report ? "" : trading::name(record.time_in_force))
        .number(event.price)
        .number(event.price_hundredths)
        .number(std::uint64_t{report ? event.shares : record.order_shares})
        .number(std::uint64_t{event.leaves_shares})
        .number(std::uint64_t{event.cumulative_shares})
        .text(trading::name(event.state))
        .text(none ? "" : trading::name(event.reason))
        .number(report ? record.execution_id : 0);
    sink_(record.sequence, row_.bytes());
  }

  const JournalSource& source_;
  const EventSink& sink_;
  std::unordered_map<std::uint64_t, std::uint64_t> roots_;  // by every id that an order has had
  RowWriter row_;
  JournalRead read_;
};

}  // namespace

JournalRead read_journal(const JournalSource& source, const EventSink& sink) {
  Reader reader(source, sink);
  for_each_record(source.path, [&](const JournalRecord& record) { reader.take(record); });
  return reader.result();
}

void require_whole(const std::string& path, const JournalRead& read,
                   std::optional<std::uint64_t> written) {
  if (!written || *written == read.last) return;
  throw Error(path + " ends with record " + std::to_string(read.last) + ", and its oeg wrote " +
              std::to_string(*written) + (read.last < *written ? ": a cut journal" : "") +
              "; orders of another file, or a part of them, would be taken for the run's");
}

}  // namespace tickpath::history
