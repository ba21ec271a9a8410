// Names of wire enumerators, for logs, traces and tools. Control threads only.
#pragma once

#include <string_view>

#include "common/wire/book_update.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/kill.hpp"
#include "common/wire/order_event.hpp"

namespace tickpath::wire {

// Each returns "?" for a value outside its enumeration.
std::string_view name(UpdateKind value) noexcept;
std::string_view name(FeedState value) noexcept;
std::string_view name(TradingState value) noexcept;
std::string_view name(RequestKind value) noexcept;
std::string_view name(ReportKind value) noexcept;
// A limit by its key in risk's configuration.
std::string_view name(KillCause value) noexcept;
std::string_view name(Role value) noexcept;
std::string_view name(Service value) noexcept;

}  // namespace tickpath::wire
