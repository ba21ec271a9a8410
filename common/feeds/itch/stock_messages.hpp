// The messages about the day, the instruments and the auctions: Nasdaq TotalView-ITCH 5.0, sections
// 1.1, 1.2 and 1.6 to 1.8. Conventions as in order_messages.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/feeds/itch/alpha.hpp"
#include "common/feeds/itch/header.hpp"

namespace tickpath::itch {

// 1.1 System Event
struct SystemEvent {
  static constexpr char kType = 'S';
  static constexpr std::size_t kLength = 12;
  // event_code: start of messages, of system hours, of market hours; end of each.
  static constexpr char kStartOfMessages = 'O', kStartOfSystemHours = 'S',
                        kStartOfMarketHours = 'Q', kEndOfMarketHours = 'M', kEndOfSystemHours = 'E',
                        kEndOfMessages = 'C';
  // Ours, not Nasdaq's: a midnight has passed within a trading day, and times start anew. Orders
  // rest on. Recordings of dated formats have one for each midnight, whether anything traded near
  // it or not (see trading_day.hpp).
  static constexpr char kMidnight = 'D';
  Header header{};
  char event_code = ' ';  // 11
  friend constexpr bool operator==(const SystemEvent&, const SystemEvent&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.event_code);
  }
};

// 1.2.1 Stock Directory
struct StockDirectory {
  static constexpr char kType = 'R';
  static constexpr std::size_t kLength = 39;
  Header header{};
  Stock stock{};                              // 11
  char market_category = ' ';                 // 19
  char financial_status_indicator = ' ';      // 20
  std::uint32_t round_lot_size = 0;           // 21
  char round_lots_only = ' ';                 // 25
  char issue_classification = ' ';            // 26
  Alpha<2> issue_sub_type{};                  // 27
  char authenticity = ' ';                    // 29  P production, T test
  char short_sale_threshold_indicator = ' ';  // 30
  char ipo_flag = ' ';                        // 31
  char luld_reference_price_tier = ' ';       // 32
  char etp_flag = ' ';                        // 33
  std::uint32_t etp_leverage_factor = 0;      // 34
  char inverse_indicator = ' ';               // 38
  friend constexpr bool operator==(const StockDirectory&, const StockDirectory&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.stock, m.market_category, m.financial_status_indicator, m.round_lot_size,
          m.round_lots_only, m.issue_classification, m.issue_sub_type, m.authenticity,
          m.short_sale_threshold_indicator, m.ipo_flag, m.luld_reference_price_tier, m.etp_flag,
          m.etp_leverage_factor, m.inverse_indicator);
  }
};

// 1.2.2 Stock Trading Action
struct StockTradingAction {
  static constexpr char kType = 'H';
  static constexpr std::size_t kLength = 25;
  static constexpr char kHalted = 'H', kPaused = 'P', kQuotationOnly = 'Q', kTrading = 'T';
  Header header{};
  Stock stock{};             // 11
  char trading_state = ' ';  // 19
  char reserved = ' ';       // 20
  Alpha<4> reason{};         // 21
  friend constexpr bool operator==(const StockTradingAction&, const StockTradingAction&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.stock, m.trading_state, m.reserved, m.reason);
  }
};

// 1.2.3 Reg SHO Short Sale Price Test Restricted Indicator
struct RegShoRestriction {
  static constexpr char kType = 'Y';
  static constexpr std::size_t kLength = 20;
  Header header{};
  Stock stock{};              // 11
  char reg_sho_action = ' ';  // 19  0 none, 1 in effect from today, 2 remains in effect
  friend constexpr bool operator==(const RegShoRestriction&, const RegShoRestriction&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.stock, m.reg_sho_action);
  }
};

// 1.2.4 Market Participant Position
struct MarketParticipantPosition {
  static constexpr char kType = 'L';
  static constexpr std::size_t kLength = 26;
  Header header{};
  Mpid mpid{};                          // 11
  Stock stock{};                        // 15
  char primary_market_maker = ' ';      // 23
  char market_maker_mode = ' ';         // 24
  char market_participant_state = ' ';  // 25
  friend constexpr bool operator==(const MarketParticipantPosition&,
                                   const MarketParticipantPosition&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.mpid, m.stock, m.primary_market_maker, m.market_maker_mode, m.market_participant_state);
  }
};

// 1.2.5.1 MWCB Decline Level: Price(8), 1/100,000,000
struct MwcbDeclineLevel {
  static constexpr char kType = 'V';
  static constexpr std::size_t kLength = 35;
  Header header{};
  std::uint64_t level_1 = 0;  // 11
  std::uint64_t level_2 = 0;  // 19
  std::uint64_t level_3 = 0;  // 27
  friend constexpr bool operator==(const MwcbDeclineLevel&, const MwcbDeclineLevel&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.level_1, m.level_2, m.level_3);
  }
};

// 1.2.5.2 MWCB Status
struct MwcbStatus {
  static constexpr char kType = 'W';
  static constexpr std::size_t kLength = 12;
  Header header{};
  char breached_level = ' ';  // 11
  friend constexpr bool operator==(const MwcbStatus&, const MwcbStatus&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.breached_level);
  }
};

// 1.2.6 Quoting Period Update
struct IpoQuotingPeriodUpdate {
  static constexpr char kType = 'K';
  static constexpr std::size_t kLength = 28;
  Header header{};
  Stock stock{};                                 // 11
  std::uint32_t ipo_quotation_release_time = 0;  // 19  seconds since midnight
  char ipo_quotation_release_qualifier = ' ';    // 23
  std::uint32_t ipo_price = 0;                   // 24
  friend constexpr bool operator==(const IpoQuotingPeriodUpdate&,
                                   const IpoQuotingPeriodUpdate&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.stock, m.ipo_quotation_release_time, m.ipo_quotation_release_qualifier, m.ipo_price);
  }
};

// 1.2.7 Limit Up - Limit Down Auction Collar
struct LuldAuctionCollar {
  static constexpr char kType = 'J';
  static constexpr std::size_t kLength = 35;
  Header header{};
  Stock stock{};                                     // 11
  std::uint32_t auction_collar_reference_price = 0;  // 19
  std::uint32_t upper_auction_collar_price = 0;      // 23
  std::uint32_t lower_auction_collar_price = 0;      // 27
  std::uint32_t auction_collar_extension = 0;        // 31
  friend constexpr bool operator==(const LuldAuctionCollar&, const LuldAuctionCollar&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.stock, m.auction_collar_reference_price, m.upper_auction_collar_price,
          m.lower_auction_collar_price, m.auction_collar_extension);
  }
};

// 1.2.8 Operational Halt
struct OperationalHalt {
  static constexpr char kType = 'h';
  static constexpr std::size_t kLength = 21;
  Header header{};
  Stock stock{};                       // 11
  char market_code = ' ';              // 19
  char operational_halt_action = ' ';  // 20  H halted, T lifted
  friend constexpr bool operator==(const OperationalHalt&, const OperationalHalt&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.stock, m.market_code, m.operational_halt_action);
  }
};

// 1.6 Net Order Imbalance Indicator (NOII)
struct NetOrderImbalanceIndicator {
  static constexpr char kType = 'I';
  static constexpr std::size_t kLength = 50;
  Header header{};
  std::uint64_t paired_shares = 0;            // 11
  std::uint64_t imbalance_shares = 0;         // 19
  char imbalance_direction = ' ';             // 27
  Stock stock{};                              // 28
  std::uint32_t far_price = 0;                // 36
  std::uint32_t near_price = 0;               // 40
  std::uint32_t current_reference_price = 0;  // 44
  char cross_type = ' ';                      // 48
  char price_variation_indicator = ' ';       // 49
  friend constexpr bool operator==(const NetOrderImbalanceIndicator&,
                                   const NetOrderImbalanceIndicator&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.paired_shares, m.imbalance_shares, m.imbalance_direction, m.stock, m.far_price,
          m.near_price, m.current_reference_price, m.cross_type, m.price_variation_indicator);
  }
};

// 1.7 Retail Price Improvement Indicator (RPII)
struct RetailPriceImprovementIndicator {
  static constexpr char kType = 'N';
  static constexpr std::size_t kLength = 20;
  Header header{};
  Stock stock{};             // 11
  char interest_flag = ' ';  // 19  B buy, S sell, A both, N none
  friend constexpr bool operator==(const RetailPriceImprovementIndicator&,
                                   const RetailPriceImprovementIndicator&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.stock, m.interest_flag);
  }
};

// 1.8 Direct Listing with Capital Raise Price Discovery
struct DirectListingPriceDiscovery {
  static constexpr char kType = 'O';
  static constexpr std::size_t kLength = 48;
  Header header{};
  Stock stock{};                               // 11
  char open_eligibility_status = ' ';          // 19
  std::uint32_t minimum_allowable_price = 0;   // 20
  std::uint32_t maximum_allowable_price = 0;   // 24
  std::uint32_t near_execution_price = 0;      // 28
  std::uint64_t near_execution_time = 0;       // 32
  std::uint32_t lower_price_range_collar = 0;  // 40
  std::uint32_t upper_price_range_collar = 0;  // 44
  friend constexpr bool operator==(const DirectListingPriceDiscovery&,
                                   const DirectListingPriceDiscovery&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.stock, m.open_eligibility_status, m.minimum_allowable_price, m.maximum_allowable_price,
          m.near_execution_price, m.near_execution_time, m.lower_price_range_collar,
          m.upper_price_range_collar);
  }
};

}  // namespace tickpath::itch
