#include "oeg/executions.hpp"

namespace tickpath::oeg {

Executions::Executions(std::uint32_t executions_max)
    : entries_(executions_max), newest_(executions_max) {}

Execution* Executions::find(std::uint64_t exec_id, std::uint64_t order_id) noexcept {
  return find_if(exec_id,
                 [order_id](const Execution& execution) { return execution.order_id == order_id; });
}

void Executions::add(const Execution& execution) noexcept {
  if (execution.exec_id == 0) return;
  const std::uint32_t at = next_;
  next_ = next_ + 1 == entries_.size() ? 0 : next_ + 1;
  if (entries_[at].execution.exec_id != 0) forget(at);
  const std::uint32_t older = newest_.find(execution.exec_id);
  if (older != IdMap::kNone) newest_.erase(execution.exec_id);
  entries_[at] = {execution, older};
  (void)newest_.insert(execution.exec_id, at);
}

void Executions::apply(const JournalRecord& record) noexcept {
  const wire::OrderEvent& event = record.event;
  if (event.report_kind == wire::ReportKind::kFillCanceled) {
    if (Execution* const known = find(record.execution_id, event.order_id)) known->canceled = true;
  } else if (event.report_kind == wire::ReportKind::kFill ||
             event.report_kind == wire::ReportKind::kFillCorrected) {
    add({record.execution_id, event.order_id, event.instrument_id, event.shares, event.price,
         event.strategy_id, event.side, false, record.fee() != 0, event.price_hundredths});
  }
}

// The entry is the oldest of all, and so the last of those with its id.
void Executions::forget(std::uint32_t index) noexcept {
  const std::uint64_t exec_id = entries_[index].execution.exec_id;
  std::uint32_t at = newest_.find(exec_id);
  if (at == index) {
    newest_.erase(exec_id);
  } else {
    while (entries_[at].older != index) at = entries_[at].older;
    entries_[at].older = IdMap::kNone;
  }
  entries_[index] = {};
}

}  // namespace tickpath::oeg
