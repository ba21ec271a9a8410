// P&L, positions and how much of each limit is used.
#pragma once

#include "tools/watch/view.hpp"

namespace tickpath::watch {

// Adds "strategies", "total", "limits", "positions" and "position_rows" to the view.
void add_money(const Found& found, control::Json& view);

}  // namespace tickpath::watch
