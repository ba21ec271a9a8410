// The table behind dictionary.hpp. Sources are named there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tickpath::fix::detail {

enum class FieldType : std::uint8_t {
  kString,
  kChar,     // one character, out of the values if there are any
  kInt,      // up to three digits where there is a largest value, else any
  kFloat,    // Price, Qty, Amt
  kBoolean,  // Y, N
  kTime,     // UTCTimestamp
  kLength,   // of the data field that follows
  kData,     // may hold SOH
  kSeqNum,   // a positive number
  kGroup,    // NumInGroup
};

struct Field {
  std::uint16_t tag;
  FieldType type;
  std::string_view name;
  // kChar: the characters allowed, of each version; empty: any.
  std::string_view values42{};
  std::string_view values44{};
  // kInt: the largest value, of each version (and 99, "other", in 4.4); 0: any.
  std::uint8_t max42 = 0;
  std::uint8_t max44 = 0;
};

using F = FieldType;

// Characters of CFICode, dates and the like are not looked at: they are strings here.
inline constexpr Field kFields[] = {
    {1, F::kString, "Account"},
    {6, F::kFloat, "AvgPx"},
    {7, F::kSeqNum, "BeginSeqNo"},
    {8, F::kString, "BeginString"},
    {9, F::kLength, "BodyLength"},
    {10, F::kString, "CheckSum"},
    {11, F::kString, "ClOrdID"},
    {12, F::kFloat, "Commission"},
    {13, F::kChar, "CommType", "123", "123456"},
    {14, F::kFloat, "CumQty"},
    {15, F::kString, "Currency"},
    {16, F::kInt, "EndSeqNo"},
    {17, F::kString, "ExecID"},
    {18, F::kString, "ExecInst"},
    {19, F::kString, "ExecRefID"},
    {20, F::kChar, "ExecTransType", "0123", "0123"},
    {21, F::kChar, "HandlInst", "123", "123"},
    {22, F::kString, "SecurityIDSource"},
    {29, F::kChar, "LastCapacity", "1234", "1234"},
    {30, F::kString, "LastMkt"},
    {31, F::kFloat, "LastPx"},
    {32, F::kFloat, "LastQty"},
    {34, F::kSeqNum, "MsgSeqNum"},
    {35, F::kString, "MsgType"},
    {36, F::kSeqNum, "NewSeqNo"},
    {37, F::kString, "OrderID"},
    {38, F::kFloat, "OrderQty"},
    {39, F::kChar, "OrdStatus", "0123456789ABCDE", "0123456789ABCDE"},
    {40, F::kChar, "OrdType", "123456789ABCDEFGHIP", "12346789DEGIJKLMP"},
    {41, F::kString, "OrigClOrdID"},
    {43, F::kBoolean, "PossDupFlag"},
    {44, F::kFloat, "Price"},
    {45, F::kSeqNum, "RefSeqNum"},
    {47, F::kString, "Rule80A"},
    {48, F::kString, "SecurityID"},
    {49, F::kString, "SenderCompID"},
    {50, F::kString, "SenderSubID"},
    {52, F::kTime, "SendingTime"},
    {54, F::kChar, "Side", "123456789", "123456789ABCDEFG"},
    {55, F::kString, "Symbol"},
    {56, F::kString, "TargetCompID"},
    {57, F::kString, "TargetSubID"},
    {58, F::kString, "Text"},
    // 7, at the close, came with FIX 4.3; the venue takes it in 4.2 as well.
    {59, F::kChar, "TimeInForce", "01234567", "01234567"},
    {60, F::kTime, "TransactTime"},
    {63, F::kString, "SettlType"},
    {64, F::kString, "SettlDate"},
    {65, F::kString, "SymbolSfx"},
    {66, F::kString, "ListID"},
    {75, F::kString, "TradeDate"},
    {76, F::kString, "ExecBroker"},
    {77, F::kChar, "PositionEffect", "OC", "OCRF"},
    {81, F::kChar, "ProcessCode", "0123456", "0123456"},
    {89, F::kData, "Signature"},
    {90, F::kLength, "SecureDataLen"},
    {91, F::kData, "SecureData"},
    {93, F::kLength, "SignatureLength"},
    {95, F::kLength, "RawDataLength"},
    {96, F::kData, "RawData"},
    {97, F::kBoolean, "PossResend"},
    {98, F::kInt, "EncryptMethod", {}, {}, 6, 6},
    {99, F::kFloat, "StopPx"},
    {100, F::kString, "ExDestination"},
    {102, F::kInt, "CxlRejReason", {}, {}, 3, 6},
    {103, F::kInt, "OrdRejReason", {}, {}, 8, 15},
    {106, F::kString, "Issuer"},
    {107, F::kString, "SecurityDesc"},
    {108, F::kInt, "HeartBtInt"},
    {109, F::kString, "ClientID"},
    {110, F::kFloat, "MinQty"},
    {111, F::kFloat, "MaxFloor"},
    {112, F::kString, "TestReqID"},
    {113, F::kBoolean, "ReportToExch"},
    {114, F::kBoolean, "LocateReqd"},
    {115, F::kString, "OnBehalfOfCompID"},
    {116, F::kString, "OnBehalfOfSubID"},
    {120, F::kString, "SettlCurrency"},
    {121, F::kBoolean, "ForexReq"},
    {122, F::kTime, "OrigSendingTime"},
    {123, F::kBoolean, "GapFillFlag"},
    {126, F::kTime, "ExpireTime"},
    {128, F::kString, "DeliverToCompID"},
    {129, F::kString, "DeliverToSubID"},
    {140, F::kFloat, "PrevClosePx"},
    {141, F::kBoolean, "ResetSeqNumFlag"},
    {142, F::kString, "SenderLocationID"},
    {143, F::kString, "TargetLocationID"},
    {144, F::kString, "OnBehalfOfLocationID"},
    {145, F::kString, "DeliverToLocationID"},
    {150, F::kChar, "ExecType", "0123456789ABCDE", "03456789ABCDEFGHI"},
    {151, F::kFloat, "LeavesQty"},
    {152, F::kFloat, "CashOrderQty"},
    {167, F::kString, "SecurityType"},
    {168, F::kTime, "EffectiveTime"},
    {198, F::kString, "SecondaryOrderID"},
    {203, F::kInt, "CoveredOrUncovered", {}, {}, 1, 1},
    {207, F::kString, "SecurityExchange"},
    {210, F::kFloat, "MaxShow"},
    {211, F::kFloat, "PegOffsetValue"},
    {212, F::kLength, "XmlDataLen"},
    {213, F::kData, "XmlData"},
    {336, F::kString, "TradingSessionID"},
    {347, F::kString, "MessageEncoding"},
    {354, F::kLength, "EncodedTextLen"},
    {355, F::kData, "EncodedText"},
    {369, F::kSeqNum, "LastMsgSeqNumProcessed"},
    {371, F::kInt, "RefTagID"},
    {372, F::kString, "RefMsgType"},
    {373, F::kInt, "SessionRejectReason", {}, {}, 11, 17},
    {376, F::kString, "ComplianceID"},
    {377, F::kBoolean, "SolicitedFlag"},
    {378, F::kInt, "ExecRestatementReason", {}, {}, 5, 10},
    {379, F::kString, "BusinessRejectRefID"},
    {380, F::kInt, "BusinessRejectReason", {}, {}, 5, 7},
    {381, F::kFloat, "GrossTradeAmt"},
    {383, F::kInt, "MaxMessageSize"},
    {388, F::kChar, "DiscretionInst", "0123456", "0123456"},
    {389, F::kFloat, "DiscretionOffsetValue"},
    {424, F::kFloat, "DayOrderQty"},
    {425, F::kFloat, "DayCumQty"},
    {426, F::kFloat, "DayAvgPx"},
    {427, F::kInt, "GTBookingInst", {}, {}, 2, 2},
    {432, F::kString, "ExpireDate"},
    {434, F::kChar, "CxlRejResponseTo", "12", "12"},
    {439, F::kString, "ClearingFirm"},
    {440, F::kString, "ClearingAccount"},
    {447, F::kChar, "PartyIDSource"},
    {448, F::kString, "PartyID"},
    {452, F::kInt, "PartyRole"},
    {453, F::kGroup, "NoPartyIDs"},
    {464, F::kBoolean, "TestMessageIndicator"},
    {526, F::kString, "SecondaryClOrdID"},
    {527, F::kString, "SecondaryExecID"},
    {528, F::kChar, "OrderCapacity", {}, "AGIPRW"},
    {529, F::kString, "OrderRestrictions"},
    {530, F::kChar, "MassCancelRequestType", {}, "1234567"},
    {531, F::kChar, "MassCancelResponse", {}, "01234567"},
    {532, F::kInt, "MassCancelRejectReason", {}, {}, 0, 6},
    {533, F::kInt, "TotalAffectedOrders"},
    {553, F::kString, "Username"},
    {554, F::kString, "Password"},
    {581, F::kInt, "AccountType", {}, {}, 0, 8},
    {582, F::kInt, "CustOrderCapacity", {}, {}, 0, 4},
    {584, F::kString, "MassStatusReqID"},
    {586, F::kTime, "OrigOrdModTime"},
    {636, F::kBoolean, "WorkingIndicator"},
    {660, F::kInt, "AcctIDSource"},
    {789, F::kSeqNum, "NextExpectedMsgSeqNum"},
    {790, F::kString, "OrdStatusReqID"},
    {851, F::kInt, "LastLiquidityInd", {}, {}, 0, 3},
};

// Tags that each version has at most, below the user-defined ones.
inline constexpr std::uint32_t kTagMax42 = 446;
inline constexpr std::uint32_t kTagMax44 = 956;
inline constexpr std::uint32_t kUserTagMin = 5000;

// Whether a message has a field: required, optional, or not, in each version.
enum class Has : std::uint8_t { kNo, kOptional, kRequired };
struct Use {
  std::uint16_t tag;
  Has in42;
  Has in44;
};

// Fields are written "11! 21!/ 109- 526+ 20-!": a bare tag is optional in both versions; !
// required,
// !/ required in 4.2 and optional in 4.4, - of 4.2 alone, + of 4.4 alone.
inline constexpr std::string_view kHeader =
    "8! 9! 35! 49! 56! 34! 52! 50 57 90 91 97 43 115 116 122 128 129 142 143 144 145 212 213 347 "
    "369";
inline constexpr std::string_view kTrailer = "93 89 10!";

// What many messages have: the instrument's fields, terms of an order, who trades, a text.
enum Part : std::uint8_t { kInstrument = 1, kTerms = 2, kOwner = 4, kText = 8 };
inline constexpr std::string_view kParts[] = {
    "65 48 22 167 207 106 107",
    "38 152 40! 44 99 15 376 377 59 168 432 126 427 12 13 47- 528+ 529+ 582+ 121 120 77 203 210 "
    "211 388 389 439- 440- 63 64 18 110 111 100 81 114 140",
    "1 109- 76- 526+ 581+ 660+ 453+",
    "58 354 355",
};

struct Message {
  std::string_view type;
  std::string_view name;
  bool admin;
  std::uint8_t parts;
  std::string_view fields;
};

inline constexpr Message kMessages[] = {
    {"0", "Heartbeat", true, 0, "112"},
    {"1", "TestRequest", true, 0, "112!"},
    {"2", "ResendRequest", true, 0, "7! 16!"},
    {"3", "Reject", true, kText, "45! 371 372 373"},
    {"4", "SequenceReset", true, 0, "123 36!"},
    {"5", "Logout", true, kText, ""},
    {"A", "Logon", true, 0, "98! 108! 95 96 141 383 789+ 464+ 553+ 554+"},
    {"D", "NewOrderSingle", false, kInstrument | kTerms | kOwner | kText,
     "11! 21!/ 55! 54! 60! 336"},
    {"F", "OrderCancelRequest", false, kInstrument | kOwner | kText,
     "41! 11! 37 66 55! 54! 60! 38 152 376 377-"},
    {"G", "OrderCancelReplaceRequest", false, kInstrument | kTerms | kOwner | kText,
     "41! 11! 37 66 21!/ 55! 54! 60! 336"},
    {"H", "OrderStatusRequest", false, kInstrument | kOwner, "11! 37 790+ 55! 54!"},
    {"q", "OrderMassCancelRequest", false, 0,
     "11+! 526+ 530+! 336+ 55+ 54+ 60+! 65+ 48+ 22+ 167+ 207+ 58+ 354+ 355+"},
    {"r", "OrderMassCancelReport", false, 0,
     "11+ 526+ 37+! 198+ 530+! 531+! 532+ 533+ 336+ 55+ 54+ 60+ 65+ 48+ 22+ 167+ 207+ 58+ 354+ "
     "355+"},
    {"8", "ExecutionReport", false, kInstrument | kOwner | kText,
     "37! 198 527+ 11 41 66 17! 20-! 19 150! 39! 103 378 636+ 55! 54! 38 152 40 44 99 15 376 377 "
     "59 168 432 126 18 47- 528+ 529+ 582+ 77 210 211 388 389 439- 440- 63 64 21 110 111 32 31 30 "
     "336 29 151! 14! 6! 424 425 426 427 75 60 113 12 13 381 120 790+ 584+ 851+"},
    {"9", "OrderCancelReject", false, kText,
     "37! 198 11! 41! 39! 66 1 109- 76- 60 434! 102 526+ 581+ 586+ 636+ 660+"},
    {"j", "BusinessMessageReject", false, kText, "45 372! 379 380!"},
};

// Message types of each version in one character; FIX 4.4 has AA to BH besides. Those that are not
// above are valid, and unsupported. "U" and what follows are user-defined.
inline constexpr std::string_view kTypes42 = "0123456789ABCDEFGHJKLMNPQRSTVWXYZabcdefghijklm";
inline constexpr std::string_view kTypes44 =
    "0123456789ABCDEFGHJKLMNPQRSTVWXYZabcdefghijklmnopqrstuvwxyz";

// Parties, FIX 4.4: the count, the field that each entry begins with, and the others.
inline constexpr std::uint16_t kGroupCount = 453;
inline constexpr std::uint16_t kGroupFirst = 448;
inline constexpr std::uint16_t kGroupMembers[] = {448, 447, 452};

// Walks a list of fields; visit(Use).
template <class Visit>
constexpr void for_each_use(std::string_view text, Visit&& visit) {
  for (std::size_t at = 0; at < text.size();) {
    std::uint16_t tag = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      tag = static_cast<std::uint16_t>(tag * 10 + (text[at] - '0'));
    bool old = true;
    bool current = true;
    bool required = false;
    bool required_before = false;
    for (; at < text.size() && text[at] != ' '; ++at) {
      old &= text[at] != '+';
      current &= text[at] != '-';
      required |= text[at] == '!';
      required_before |= text[at] == '/';
    }
    ++at;
    const Has has = required ? Has::kRequired : Has::kOptional;
    visit(Use{tag, old ? has : Has::kNo,
              !current          ? Has::kNo
              : required_before ? Has::kOptional
                                : has});
  }
}

// All fields of a message between header and trailer.
template <class Visit>
constexpr void for_each_use(const Message& message, Visit&& visit) {
  for_each_use(message.fields, visit);
  for (std::size_t part = 0; part < std::size(kParts); ++part)
    if ((message.parts >> part & 1) != 0) for_each_use(kParts[part], visit);
}

constexpr Has has(const Use& use, bool v44) noexcept { return v44 ? use.in44 : use.in42; }

}  // namespace tickpath::fix::detail
