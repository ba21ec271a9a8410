// One message of each type: the values, and the bytes that they have on the wire. The bytes were
// put together from the offsets of the specification's tables, not by the encoder under test.
#pragma once

#include <string_view>
#include <tuple>

#include "common/feeds/itch/codec.hpp"

namespace tickpath::itch::test {

template <class Message>
struct Golden {
  std::string_view hex;
  Message message;
};

inline constexpr Header kGoldenHeader{
    .stock_locate = 0x1234, .tracking_number = 0x5678, .timestamp = 0x1f1ade2cb3a1};

inline const std::tuple kGolden{
    Golden<SystemEvent>{"53123456781f1ade2cb3a151", {.header = kGoldenHeader, .event_code = 'Q'}},
    Golden<StockDirectory>{
        "52123456781f1ade2cb3a14141504c20202020514e000000644e435a20504e59314e0102030449",
        {.header = kGoldenHeader,
         .stock = "AAPL",
         .market_category = 'Q',
         .financial_status_indicator = 'N',
         .round_lot_size = 100,
         .round_lots_only = 'N',
         .issue_classification = 'C',
         .issue_sub_type = "Z",
         .authenticity = 'P',
         .short_sale_threshold_indicator = 'N',
         .ipo_flag = 'Y',
         .luld_reference_price_tier = '1',
         .etp_flag = 'N',
         .etp_leverage_factor = 0x01020304,
         .inverse_indicator = 'I'}},
    Golden<StockTradingAction>{"48123456781f1ade2cb3a14d5346542020202050204c554450",
                               {.header = kGoldenHeader,
                                .stock = "MSFT",
                                .trading_state = 'P',
                                .reserved = ' ',
                                .reason = "LUDP"}},
    Golden<RegShoRestriction>{"59123456781f1ade2cb3a142524b2e4120202032",
                              {.header = kGoldenHeader, .stock = "BRK.A", .reg_sho_action = '2'}},
    Golden<MarketParticipantPosition>{"4c123456781f1ade2cb3a14753434f4141504c20202020594e41",
                                      {.header = kGoldenHeader,
                                       .mpid = "GSCO",
                                       .stock = "AAPL",
                                       .primary_market_maker = 'Y',
                                       .market_maker_mode = 'N',
                                       .market_participant_state = 'A'}},
    Golden<MwcbDeclineLevel>{
        "56123456781f1ade2cb3a1111213141516171821222324252627283132333435363738",
        {.header = kGoldenHeader,
         .level_1 = 0x1112131415161718,
         .level_2 = 0x2122232425262728,
         .level_3 = 0x3132333435363738}},
    Golden<MwcbStatus>{"57123456781f1ade2cb3a131",
                       {.header = kGoldenHeader, .breached_level = '1'}},
    Golden<IpoQuotingPeriodUpdate>{"4b123456781f1ade2cb3a14e4557434f20202000008ca04100029810",
                                   {.header = kGoldenHeader,
                                    .stock = "NEWCO",
                                    .ipo_quotation_release_time = 36000,
                                    .ipo_quotation_release_qualifier = 'A',
                                    .ipo_price = 170000}},
    Golden<LuldAuctionCollar>{
        "4a123456781f1ade2cb3a14141504c202020200102030405060708090a0b0c00000003",
        {.header = kGoldenHeader,
         .stock = "AAPL",
         .auction_collar_reference_price = 0x01020304,
         .upper_auction_collar_price = 0x05060708,
         .lower_auction_collar_price = 0x090a0b0c,
         .auction_collar_extension = 3}},
    Golden<OperationalHalt>{"68123456781f1ade2cb3a14141504c202020204254",
                            {.header = kGoldenHeader,
                             .stock = "AAPL",
                             .market_code = 'B',
                             .operational_halt_action = 'T'}},
    Golden<AddOrder>{"41123456781f1ade2cb3a10102030405060708420000012c4141504c2020202000595074",
                     {.header = kGoldenHeader,
                      .order_reference_number = 0x0102030405060708,
                      .buy_sell_indicator = 'B',
                      .shares = 300,
                      .stock = "AAPL",
                      .price = 5853300}},
    Golden<AddOrderMpid>{
        "46123456781f1ade2cb3a1f1f2f3f4f5f6f7f853fffffffe474f4f474c4f4e47800000014e495445",
        {.header = kGoldenHeader,
         .order_reference_number = 0xf1f2f3f4f5f6f7f8,
         .buy_sell_indicator = 'S',
         .shares = 0xfffffffe,
         .stock = "GOOGLONG",
         .price = 0x80000001,
         .attribution = "NITE"}},
    Golden<OrderExecuted>{"45123456781f1ade2cb3a10102030405060708000000c81122334455667788",
                          {.header = kGoldenHeader,
                           .order_reference_number = 0x0102030405060708,
                           .executed_shares = 200,
                           .match_number = 0x1122334455667788}},
    Golden<OrderExecutedWithPrice>{
        "43123456781f1ade2cb3a10102030405060708000000c811223344556677884e0012d687",
        {.header = kGoldenHeader,
         .order_reference_number = 0x0102030405060708,
         .executed_shares = 200,
         .match_number = 0x1122334455667788,
         .printable = 'N',
         .execution_price = 1234567}},
    Golden<OrderCancel>{"58123456781f1ade2cb3a1010203040506070800000011",
                        {.header = kGoldenHeader,
                         .order_reference_number = 0x0102030405060708,
                         .cancelled_shares = 17}},
    Golden<OrderDelete>{"44123456781f1ade2cb3a10102030405060708",
                        {.header = kGoldenHeader, .order_reference_number = 0x0102030405060708}},
    Golden<OrderReplace>{"55123456781f1ade2cb3a101020304050607081112131415161718000001f40001869f",
                         {.header = kGoldenHeader,
                          .original_order_reference_number = 0x0102030405060708,
                          .new_order_reference_number = 0x1112131415161718,
                          .shares = 500,
                          .price = 99999}},
    Golden<NonCrossTrade>{
        "50123456781f1ade2cb3a10000000000000000420000001954534c4120202020006ad4a200000000deadbeef",
        {.header = kGoldenHeader,
         .order_reference_number = 0,
         .buy_sell_indicator = 'B',
         .shares = 25,
         .stock = "TSLA",
         .price = 7001250,
         .match_number = 0xdeadbeef}},
    Golden<CrossTrade>{
        "51123456781f1ade2cb3a100000001234567894141504c202020200016e360000000000000004d4f",
        {.header = kGoldenHeader,
         .shares = 0x123456789,
         .stock = "AAPL",
         .cross_price = 1500000,
         .match_number = 77,
         .cross_type = 'O'}},
    Golden<BrokenTrade>{"42123456781f1ade2cb3a100000000deadbeef",
                        {.header = kGoldenHeader, .match_number = 0xdeadbeef}},
    Golden<NetOrderImbalanceIndicator>{"49123456781f1ade2cb3a100000000000f42400a0b0c0d0e0f101153414"
                                       "1504c202020200000000b0000001600000021434c",
                                       {.header = kGoldenHeader,
                                        .paired_shares = 1000000,
                                        .imbalance_shares = 0x0a0b0c0d0e0f1011,
                                        .imbalance_direction = 'S',
                                        .stock = "AAPL",
                                        .far_price = 11,
                                        .near_price = 22,
                                        .current_reference_price = 33,
                                        .cross_type = 'C',
                                        .price_variation_indicator = 'L'}},
    Golden<RetailPriceImprovementIndicator>{
        "4e123456781f1ade2cb3a14141504c2020202041",
        {.header = kGoldenHeader, .stock = "AAPL", .interest_flag = 'A'}},
    Golden<DirectListingPriceDiscovery>{"4f123456781f1ade2cb3a1444c43522020202059000000010000000200"
                                        "0000030000123456789abc0000000400000005",
                                        {.header = kGoldenHeader,
                                         .stock = "DLCR",
                                         .open_eligibility_status = 'Y',
                                         .minimum_allowable_price = 1,
                                         .maximum_allowable_price = 2,
                                         .near_execution_price = 3,
                                         .near_execution_time = 0x123456789abc,
                                         .lower_price_range_collar = 4,
                                         .upper_price_range_collar = 5}}};

}  // namespace tickpath::itch::test
