#include "common/log/hot_log.hpp"

#include <fmt/args.h>

#include "common/base/check.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::log {

std::string HotLog::text_of(const std::string& format, const Record& record) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (std::size_t i = 0; i < record.arguments.size(); ++i) {
    if ((record.is_signed >> i & 1) != 0)
      store.push_back(static_cast<std::int64_t>(record.arguments[i]));
    else
      store.push_back(record.arguments[i]);
  }
  return fmt::vformat(format, store);
}

HotLog::HotLog() : window_ticks_(clock::tsc_hz()) {}

void HotLog::define_code(std::size_t code, Level level, std::string format,
                         std::uint32_t per_second) {
  TICKPATH_CHECK(code < kCodesMax, "hot log codes are small");
  // A format that does not fit is found here, by the first test that starts the program, and not
  // when the rare event happens.
  (void)text_of(format, Record{});
  definitions_[code].level = level;
  definitions_[code].format = std::move(format);
  budgets_[code].per_second = per_second;
}

void HotLog::push(std::size_t code, std::uint32_t is_signed,
                  std::array<std::uint64_t, kArgumentsMax> arguments) noexcept {
  if (code >= kCodesMax) [[unlikely]] {
    lost_.add();
    return;
  }
  Budget& budget = budgets_[code];
  const std::uint64_t now = tsc_now().value;
  if (now - budget.window_start_tsc >= window_ticks_) {
    budget.window_start_tsc = now;
    budget.in_window = 0;
  }
  if (budget.in_window >= budget.per_second) {
    budget.suppressed.add();
    return;
  }
  ++budget.in_window;
  if (!ring_.try_push({static_cast<std::uint32_t>(code), is_signed, arguments})) lost_.add();
}

void HotLog::drain(bool last) {
  Record record;
  while (ring_.try_pop(record)) {
    Definition& definition = definitions_[record.code];
    definition.newest = record;
    if (enabled(definition.level)) write(definition.level, text_of(definition.format, record));
  }
  // Drained many times a second: what was left out is told in one line a code and second.
  const std::uint64_t now = tsc_now().value;
  if (!last && now - told_tsc_ < window_ticks_) return;
  told_tsc_ = now;
  tell_what_was_left_out();
}

void HotLog::tell_what_was_left_out() {
  for (std::size_t code = 0; code < kCodesMax; ++code) {
    const std::uint64_t suppressed = budgets_[code].suppressed.get();
    Definition& definition = definitions_[code];
    if (suppressed == definition.suppressed_told) continue;
    if (enabled(definition.level))
      write(definition.level, fmt::format("... and {} more lines like this one left out: {}",
                                          suppressed - definition.suppressed_told,
                                          text_of(definition.format, definition.newest)));
    definition.suppressed_told = suppressed;
  }
  if (const std::uint64_t lost = lost_.get(); lost != lost_told_) {
    warning("{} log records found the ring full", lost - lost_told_);
    lost_told_ = lost;
  }
}

}  // namespace tickpath::log
