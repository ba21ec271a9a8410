// The directory entry of an instrument of which nothing is known but its name.
#pragma once

#include "common/feeds/itch/stock_messages.hpp"

namespace tickpath::itch::detail {

// What it is for a large NASDAQ listing: common stock, round lots of 100, LULD tier 1, no ETP.
inline StockDirectory nasdaq_listing(const Header& header, const Stock& stock) {
  return {.header = header,
          .stock = stock,
          .market_category = 'Q',
          .financial_status_indicator = 'N',
          .round_lot_size = 100,
          .round_lots_only = 'N',
          .issue_classification = 'C',
          .issue_sub_type = "Z",
          .authenticity = 'P',
          .short_sale_threshold_indicator = 'N',
          .ipo_flag = 'N',
          .luld_reference_price_tier = '1',
          .etp_flag = 'N',
          .etp_leverage_factor = 0,
          .inverse_indicator = 'N'};
}

}  // namespace tickpath::itch::detail
