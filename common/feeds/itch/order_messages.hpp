// The messages that build a book and tell its trades: Nasdaq TotalView-ITCH 5.0, sections 1.3 to
// 1.5. Feed -> reader, packed big-endian on the wire; these structs hold the decoded values.
// Field names are the specification's; a `price` is Price(4), 1/10,000 dollars. The number at the
// right of a field is its offset in the message.
//
// fields() lists the fields after the header in wire order. It is the one description from which
// common/feeds/itch/codec.hpp makes decoder, encoder and length.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/feeds/itch/alpha.hpp"
#include "common/feeds/itch/header.hpp"

namespace tickpath::itch {

// 1.3.1 Add Order - No MPID Attribution
struct AddOrder {
  static constexpr char kType = 'A';
  static constexpr std::size_t kLength = 36;
  Header header{};
  std::uint64_t order_reference_number = 0;  // 11
  char buy_sell_indicator = ' ';             // 19
  std::uint32_t shares = 0;                  // 20
  Stock stock{};                             // 24
  std::uint32_t price = 0;                   // 32
  friend constexpr bool operator==(const AddOrder&, const AddOrder&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.order_reference_number, m.buy_sell_indicator, m.shares, m.stock, m.price);
  }
};

// 1.3.2 Add Order with MPID Attribution
struct AddOrderMpid {
  static constexpr char kType = 'F';
  static constexpr std::size_t kLength = 40;
  Header header{};
  std::uint64_t order_reference_number = 0;  // 11
  char buy_sell_indicator = ' ';             // 19
  std::uint32_t shares = 0;                  // 20
  Stock stock{};                             // 24
  std::uint32_t price = 0;                   // 32
  Mpid attribution{};                        // 36
  friend constexpr bool operator==(const AddOrderMpid&, const AddOrderMpid&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.order_reference_number, m.buy_sell_indicator, m.shares, m.stock, m.price,
          m.attribution);
  }
};

// 1.4.1 Order Executed: at the order's own price
struct OrderExecuted {
  static constexpr char kType = 'E';
  static constexpr std::size_t kLength = 31;
  Header header{};
  std::uint64_t order_reference_number = 0;  // 11
  std::uint32_t executed_shares = 0;         // 19
  std::uint64_t match_number = 0;            // 23
  friend constexpr bool operator==(const OrderExecuted&, const OrderExecuted&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.order_reference_number, m.executed_shares, m.match_number);
  }
};

// 1.4.2 Order Executed With Price
struct OrderExecutedWithPrice {
  static constexpr char kType = 'C';
  static constexpr std::size_t kLength = 36;
  Header header{};
  std::uint64_t order_reference_number = 0;  // 11
  std::uint32_t executed_shares = 0;         // 19
  std::uint64_t match_number = 0;            // 23
  char printable = ' ';                      // 31  'N': not to be counted in volume
  std::uint32_t execution_price = 0;         // 32
  friend constexpr bool operator==(const OrderExecutedWithPrice&,
                                   const OrderExecutedWithPrice&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.order_reference_number, m.executed_shares, m.match_number, m.printable,
          m.execution_price);
  }
};

// 1.4.3 Order Cancel: part of the order's shares
struct OrderCancel {
  static constexpr char kType = 'X';
  static constexpr std::size_t kLength = 23;
  Header header{};
  std::uint64_t order_reference_number = 0;  // 11
  std::uint32_t cancelled_shares = 0;        // 19
  friend constexpr bool operator==(const OrderCancel&, const OrderCancel&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.order_reference_number, m.cancelled_shares);
  }
};

// 1.4.4 Order Delete
struct OrderDelete {
  static constexpr char kType = 'D';
  static constexpr std::size_t kLength = 19;
  Header header{};
  std::uint64_t order_reference_number = 0;  // 11
  friend constexpr bool operator==(const OrderDelete&, const OrderDelete&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.order_reference_number);
  }
};

// 1.4.5 Order Replace: side, stock and attribution stay; time priority is lost
struct OrderReplace {
  static constexpr char kType = 'U';
  static constexpr std::size_t kLength = 35;
  Header header{};
  std::uint64_t original_order_reference_number = 0;  // 11
  std::uint64_t new_order_reference_number = 0;       // 19
  std::uint32_t shares = 0;                           // 27
  std::uint32_t price = 0;                            // 31
  friend constexpr bool operator==(const OrderReplace&, const OrderReplace&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.original_order_reference_number, m.new_order_reference_number, m.shares, m.price);
  }
};

// 1.5.1 Trade Message (Non-Cross): a match with a non-displayable order
struct NonCrossTrade {
  static constexpr char kType = 'P';
  static constexpr std::size_t kLength = 44;
  Header header{};
  std::uint64_t order_reference_number = 0;  // 11  zero since 2010
  char buy_sell_indicator = ' ';             // 19  'B' always since 2014
  std::uint32_t shares = 0;                  // 20
  Stock stock{};                             // 24
  std::uint32_t price = 0;                   // 32
  std::uint64_t match_number = 0;            // 36
  friend constexpr bool operator==(const NonCrossTrade&, const NonCrossTrade&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.order_reference_number, m.buy_sell_indicator, m.shares, m.stock, m.price,
          m.match_number);
  }
};

// 1.5.2 Cross Trade
struct CrossTrade {
  static constexpr char kType = 'Q';
  static constexpr std::size_t kLength = 40;
  Header header{};
  std::uint64_t shares = 0;        // 11  eight bytes, unlike every other quantity of a trade
  Stock stock{};                   // 19
  std::uint32_t cross_price = 0;   // 27
  std::uint64_t match_number = 0;  // 31
  char cross_type = ' ';           // 39  O open, C close, H halt or IPO, I intraday
  friend constexpr bool operator==(const CrossTrade&, const CrossTrade&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.shares, m.stock, m.cross_price, m.match_number, m.cross_type);
  }
};

// 1.5.3 Broken Trade
struct BrokenTrade {
  static constexpr char kType = 'B';
  static constexpr std::size_t kLength = 19;
  Header header{};
  std::uint64_t match_number = 0;  // 11
  friend constexpr bool operator==(const BrokenTrade&, const BrokenTrade&) = default;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.match_number);
  }
};

}  // namespace tickpath::itch
