// The messages of FIX 4.2 and 4.4 that are spoken here, one table for both. It drives the check of
// incoming messages (dictionary.cpp), the parser's view of data fields and repeating groups
// (parse.cpp), and the XML that QuickFIX reads; tests hold what the encoder writes against it.
//
// Source: FIX 4.2 with Errata 20010501 and 4.4 with Errata 20030618, volumes 2 to 4 (messages),
// volume 1 ("Common Components of Application Messages", 4.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "common/fix/detail/dictionary_fields.hpp"

namespace tickpath::fix::detail {

// Tags that each version has at most, below the user-defined ones.
inline constexpr std::uint32_t kTagMax42 = 446;
inline constexpr std::uint32_t kTagMax44 = 956;
// User-defined fields begin here and have no end: FIX 4.2 and 4.4 name 5000 to 9999 for fields that
// are registered and leave those above to agreements between two sides.
inline constexpr std::uint32_t kUserTagMin = 5000;

// Fields are written as in "11! 38 78[79 80] <Parties>": ! is required; brackets hold a repeating
// group behind its count, the field that begins each entry first; <> names a component.
using FieldList = std::string_view;

struct Component {
  std::string_view name;
  FieldList in42;
  FieldList in44;
};

inline constexpr Component kComponents[] = {
    // FIX 4.2 repeats the fields of an instrument in each message. Symbol (55) is a field of each
    // message here: FIX 4.4 lets it go where there is a SecurityID, and nobody here can do without.
    {"Parties", "", "453[448 447 452 <PtysSubGrp>]"},
    {"PtysSubGrp", "", "802[523 803]"},
    {"ContraGrp", "", "382[375 337 437 438 655]"},
    {"Instrument", "65 48 22 167 200 205 201 202 206 231 223 207 106 348 349 107 350 351",
     "65 48 22 <SecAltIDGrp> 460 461 167 762 200 541 201 224 225 239 226 227 228 255 543 470 471 "
     "472 240 202 947 206 231 223 207 106 348 349 107 350 351 691 667 875 876 <EvntGrp> 873 874"},
    {"SecAltIDGrp", "", "454[455 456]"},
    {"EvntGrp", "", "864[865 866 867 868]"},
    {"FinancingDetails", "", "913 914 915 918 788 916 917 919 898"},
    {"UndInstrmtGrp", "", "711[<UnderlyingInstrument>]"},
    {"UnderlyingInstrument", "",
     "311 312 309 305 <UndSecAltIDGrp> 462 463 310 763 313 542 315 241 242 243 244 245 246 256 595 "
     "592 593 594 247 316 941 317 436 435 308 306 362 363 307 364 365 877 878 318 879 810 882 883 "
     "884 885 886 <UnderlyingStipulations>"},
    {"UndSecAltIDGrp", "", "457[458 459]"},
    {"UnderlyingStipulations", "", "887[888 889]"},
    {"Stipulations", "", "232[233 234]"},
    {"OrderQtyData", "", "38 152 516 468 469"},
    {"PegInstructions", "", "211 835 836 837 838 840"},
    {"DiscretionInstructions", "", "388 389 841 842 843 844 846"},
    {"CommissionData", "", "12 13 479 497"},
    {"SpreadOrBenchmarkCurveData", "", "218 220 221 222 662 663 699 761"},
    {"YieldData", "", "235 236 701 696 697 698"},
    {"ContAmtGrp", "", "518[519 520 521]"},
    {"InstrmtLegExecGrp", "",
     "555[<InstrumentLeg> 687 690 <LegStipulations> 564 565 <NestedParties> 654 566 587 588 637]"},
    {"InstrumentLeg", "",
     "600 601 602 603 <LegSecAltIDGrp> 607 608 609 764 610 611 248 249 250 251 252 253 257 599 596 "
     "597 598 254 612 942 613 614 615 616 617 618 619 620 621 622 623 624 556 740 739 955 956"},
    {"LegSecAltIDGrp", "", "604[605 606]"},
    {"LegStipulations", "", "683[688 689]"},
    {"NestedParties", "", "539[524 525 538 <NstdPtysSubGrp>]"},
    {"NstdPtysSubGrp", "", "804[545 805]"},
    {"MiscFeesGrp", "", "136[137 138 139 891]"},
    {"PreAllocGrp", "", "78[79 661 736 467 <NestedParties> 80]"},
    {"TrdgSesGrp", "", "386[336 625]"},
    {"AffectedOrdGrp", "", "534[41 535 536]"},
};

struct Message {
  std::string_view type;
  std::string_view name;
  bool admin;
  FieldList in42;  // empty: the version has no such message
  FieldList in44;
};

inline constexpr Message kHeader = {
    "", "StandardHeader", true,
    "8! 9! 35! 49! 56! 115 128 90 91 34! 50 142 57 143 116 144 129 145 43 97 52! 122 212 213 347 "
    "369 370",
    "8! 9! 35! 49! 56! 115 128 90 91 34! 50 142 57 143 116 144 129 145 43 97 52! 122 212 213 347 "
    "369 627[628 629 630]"};
inline constexpr Message kTrailer = {"", "StandardTrailer", true, "93 89 10!", "93 89 10!"};

inline constexpr Message kMessages[] = {
    {"0", "Heartbeat", true, "112", "112"},
    {"1", "TestRequest", true, "112!", "112!"},
    {"2", "ResendRequest", true, "7! 16!", "7! 16!"},
    {"3", "Reject", true, "45! 371 372 373 58 354 355", "45! 371 372 373 58 354 355"},
    {"4", "SequenceReset", true, "123 36!", "123 36!"},
    {"5", "Logout", true, "58 354 355", "58 354 355"},
    {"A", "Logon", true, "98! 108! 95 96 141 383 384[372 385]",
     "98! 108! 95 96 141 789 383 384[372 385] 464 553 554"},
    {"D", "NewOrderSingle", false,
     "11! 109 76 1 78[79 80] 63 64 21! 18 110 111 100 386[336] 81 55! <Instrument> 140 54! 114 60! "
     "38 152 40! 44 99 15 376 377 23 117 59 168 432 126 427 12 13 47 121 120 58 354 355 193 192 77 "
     "203 204 210 211 388 389 439 440",
     "11! 526 583 <Parties> 229 75 1 660 581 589 590 591 70 <PreAllocGrp> 63 64 544 635 21 18 110 "
     "111 100 <TrdgSesGrp> 81 55! <Instrument> <FinancingDetails> <UndInstrmtGrp> 140 54! 114 60! "
     "<Stipulations> 854 <OrderQtyData> 40! 423 44 99 <SpreadOrBenchmarkCurveData> <YieldData> 15 "
     "376 377 23 117 59 168 432 126 427 <CommissionData> 528 529 582 121 120 775 58 354 355 193 "
     "192 640 77 203 210 <PegInstructions> <DiscretionInstructions> 847 848 849 480 481 513 494"},
    {"F", "OrderCancelRequest", false,
     "41! 37 11! 66 1 109 76 55! <Instrument> 54! 60! 38 152 376 377 58 354 355",
     "41! 37 11! 526 583 66 586 1 660 581 <Parties> 55! <Instrument> <FinancingDetails> "
     "<UndInstrmtGrp> 54! 60! <OrderQtyData> 376 58 354 355"},
    {"G", "OrderCancelReplaceRequest", false,
     "37 109 76 41! 11! 66 1 78[79 80] 63 64 21! 18 110 111 100 386[336] 55! <Instrument> 54! 60! "
     "38 152 40! 44 99 211 388 389 376 377 15 59 168 432 126 427 12 13 47 121 120 58 354 355 193 "
     "192 77 203 204 210 114 439 440",
     "37 <Parties> 229 75 41! 11! 526 583 66 586 1 660 581 589 590 591 70 <PreAllocGrp> 63 64 544 "
     "635 21 18 110 111 100 <TrdgSesGrp> 55! <Instrument> <FinancingDetails> <UndInstrmtGrp> 54! "
     "60! 854 <OrderQtyData> 40! 423 44 99 <SpreadOrBenchmarkCurveData> <YieldData> "
     "<PegInstructions> <DiscretionInstructions> 847 848 849 376 377 15 59 168 432 126 427 "
     "<CommissionData> 528 529 582 121 120 775 58 354 355 193 192 640 77 203 210 114 480 481 513 "
     "494"},
    {"H", "OrderStatusRequest", false, "37 11! 109 1 76 55! <Instrument> 54!",
     "37 11! 526 583 <Parties> 790 1 660 55! <Instrument> <FinancingDetails> <UndInstrmtGrp> 54!"},
    {"AF", "OrderMassStatusRequest", false, "",
     "584! 585! <Parties> 1 660 336 625 55 <Instrument> <UnderlyingInstrument> 54"},
    {"q", "OrderMassCancelRequest", false, "",
     "11! 526 530! 336 625 55 <Instrument> <UnderlyingInstrument> 54 60! 58 354 355"},
    {"r", "OrderMassCancelReport", false, "",
     "11 526 37! 198 530! 531! 532 533 <AffectedOrdGrp> 336 625 55 <Instrument> "
     "<UnderlyingInstrument> 54 60 58 354 355"},
    {"8", "ExecutionReport", false,
     "37! 198 11 41 109 76 382[375 337 437 438] 66 17! 20! 19 150! 39! 103 378 1 63 64 55! "
     "<Instrument> 54! 38 152 40 44 99 211 388 389 15 376 377 59 168 432 126 18 47 32 31 194 195 "
     "30 336 29 151! 14! 6! 424 425 426 427 75 60 113 12 13 381 119 120 155 156 21 110 111 77 210 "
     "58 354 355 193 192 439 440 442",
     "37! 198 526 527 11 41 583 693 790 584 911 912 <Parties> 229 <ContraGrp> 66 548 551 549 17! "
     "19 150! 39! 636 103 378 1 660 581 589 590 591 63 64 544 635 55! <Instrument> "
     "<FinancingDetails> <UndInstrmtGrp> 54! <Stipulations> 854 <OrderQtyData> 40 423 44 99 "
     "<PegInstructions> <DiscretionInstructions> 839 845 847 848 849 850 15 376 377 59 168 432 126 "
     "18 528 529 582 32 652 31 651 669 194 195 30 336 625 943 29 151! 14! 6! 424 425 426 427 75 60 "
     "113 <CommissionData> <SpreadOrBenchmarkCurveData> <YieldData> 381 157 230 158 159 738 920 "
     "921 922 258 259 260 238 237 118 119 120 155 156 21 110 111 77 210 775 58 354 355 193 192 641 "
     "442 480 481 513 494 483 515 484 485 638 639 851 <ContAmtGrp> <InstrmtLegExecGrp> 797 "
     "<MiscFeesGrp>"},
    {"9", "OrderCancelReject", false, "37! 198 11! 41! 39! 109 76 66 1 60 434! 102 58 354 355",
     "37! 198 526 11! 583 41! 39! 636 586 66 1 660 581 229 75 60 434! 102 58 354 355"},
    {"j", "BusinessMessageReject", false, "45 372! 379 380! 58 354 355",
     "45 372! 379 380! 58 354 355"},
};

// Message types of each version in one character; FIX 4.4 has AA to BH besides. Those that are not
// above are valid, and unsupported. "U" and what follows are user-defined.
inline constexpr std::string_view kTypes42 = "0123456789ABCDEFGHJKLMNPQRSTVWXYZabcdefghijklm";
inline constexpr std::string_view kTypes44 =
    "0123456789ABCDEFGHJKLMNPQRSTVWXYZabcdefghijklmnopqrstuvwxyz";

// A field of a list. `group`: the count of the innermost repeating group that it is in, 0: none;
// `first` of that group's entries.
struct Use {
  std::uint16_t tag;
  bool required;
  std::uint16_t group;
  bool first;
};

constexpr FieldList fields_of(const Message& message, bool v44) noexcept {
  return v44 ? message.in44 : message.in42;
}

constexpr FieldList component(std::string_view name, bool v44) noexcept {
  for (const Component& component : kComponents)
    if (component.name == name) return v44 ? component.in44 : component.in42;
  return {};
}

// Calls visit(Use) for each field of a list in order, those of groups and components included.
// `first`: the next field begins the entries of `group`.
template <class Visit>
constexpr void for_each_use(FieldList list, bool v44, std::uint16_t group, bool& first,
                            Visit& visit) {
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] == ' ') continue;
    if (list[at] == '<') {
      const std::size_t end = list.find('>', at);
      for_each_use(component(list.substr(at + 1, end - at - 1), v44), v44, group, first, visit);
      at = end;
      continue;
    }
    std::uint16_t tag = 0;
    for (; at < list.size() && list[at] >= '0' && list[at] <= '9'; ++at)
      tag = static_cast<std::uint16_t>(tag * 10 + (list[at] - '0'));
    const bool required = at < list.size() && list[at] == '!';
    at += required ? 1 : 0;
    visit(Use{tag, required, group, first});
    first = false;
    if (at == list.size() || list[at] != '[') continue;
    const std::size_t begin = ++at;
    for (int depth = 1; depth != 0; ++at) depth += list[at] == '[' ? 1 : list[at] == ']' ? -1 : 0;
    bool begins = true;
    for_each_use(list.substr(begin, --at - begin), v44, tag, begins, visit);
  }
}

template <class Visit>
constexpr void for_each_use(const Message& message, bool v44, Visit&& visit) {
  bool first = false;
  for_each_use(fields_of(message, v44), v44, 0, first, visit);
}

}  // namespace tickpath::fix::detail
