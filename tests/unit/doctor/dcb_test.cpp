#include "tools/doctor/dcb.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickpath::cli::doctor {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

// An attribute: length with header, type, payload, filled up to four bytes.
Bytes attribute(int type, const Bytes& payload) {
  const auto length = static_cast<int>(payload.size()) + 4;
  Bytes result = bytes({length & 255, length >> 8, type & 255, type >> 8});
  append(result, payload);
  while (result.size() % 4 != 0) result.push_back(std::byte{0});
  return result;
}

// struct ieee_pfc of <linux/dcbnl.h>: capability, enabled, two more, delay; eight counts each of
// sent and received pauses.
Bytes pfc(int enabled, int sent_3, int received_3) {
  Bytes result(136);
  result[0] = std::byte{8};
  result[1] = static_cast<std::byte>(enabled);
  result[8 + 3 * 8] = static_cast<std::byte>(sent_3);
  result[72 + 3 * 8] = static_cast<std::byte>(received_3);
  return result;
}

// struct dcb_app: selector, priority, protocol.
Bytes app(int selector, int priority, int protocol) {
  return attribute(1, bytes({selector, priority, protocol & 255, protocol >> 8}));
}

// A netlink message of this type.
Bytes message(int type, const Bytes& body) {
  const auto length = static_cast<int>(body.size()) + 16;
  Bytes result =
      bytes({length & 255, length >> 8, 0, 0, type & 255, type >> 8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  append(result, body);
  return result;
}

Bytes answer() {
  Bytes table;
  append(table, app(5, 3, 26));     // DSCP 26
  append(table, app(5, 6, 48));     // DSCP 48
  append(table, app(1, 3, 35093));  // by EtherType (RoCE v1): not ours
  Bytes settings;
  append(settings, attribute(1, Bytes(40)));  // ETS
  append(settings, attribute(2, pfc(1 << 3, 12, 4)));
  append(settings, attribute(3, table));
  Bytes body = bytes({0, 21, 0, 0});  // family, DCB_CMD_IEEE_GET
  append(body, attribute(1, bytes({'e', 'n', 's', '1', 0})));
  append(body, attribute(13 | 0x8000, settings));  // DCB_ATTR_IEEE, marked as nested
  append(body, attribute(14, bytes({5})));         // DCBX
  return message(78, body);
}

TEST(Dcb, AsksInTheBytesOfIproute2) {
  // `strace dcb pfc show dev lo`, but for its acknowledge flag and sequence number.
  EXPECT_EQ(dcb_request("lo", 1), bytes({28, 0, 0, 0,  78, 0, 1, 0, 1, 0, 0,   0,   0, 0,
                                         0,  0, 0, 21, 0,  0, 7, 0, 1, 0, 'l', 'o', 0, 0}));
}

TEST(Dcb, ReadsFlowControlAndTheTableOfDscp) {
  const DcbAnswer got = parse_dcb(answer(), "ens1");
  ASSERT_TRUE(got.dcb.has_value()) << got.why_not;
  EXPECT_EQ(got.dcb->paused.to_ulong(), 1u << 3);
  EXPECT_EQ(got.dcb->pauses_sent, 12u);
  EXPECT_EQ(got.dcb->pauses_received, 4u);
  EXPECT_EQ(got.dcb->priorities, (std::map<int, std::set<int>>{{26, {3}}, {48, {6}}}));
}

TEST(Dcb, SaysWhyThereIsNoAnswer) {
  // -EOPNOTSUPP, as of an interface without dcbnl.
  const DcbAnswer none = parse_dcb(message(2, bytes({0xa1, 0xff, 0xff, 0xff})), "lo");
  EXPECT_FALSE(none.dcb.has_value());
  EXPECT_EQ(none.why_not, "the driver of lo has no DCB settings");
  EXPECT_THAT(ask_dcb("no_such_if").why_not, ::testing::HasSubstr("no_such_if"));
}

TEST(Dcb, TakesNothingFromAnAnswerThatIsCutOrDamaged) {
  const Bytes whole = answer();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const DcbAnswer got = parse_dcb(std::span(whole).first(length), "ens1");
    EXPECT_FALSE(got.dcb.has_value()) << length;
    EXPECT_FALSE(got.why_not.empty()) << length;
  }
  // Every byte of lengths and types wrong: no answer, or some, but never a read beyond the end,
  // which the address sanitizer would see.
  for (std::size_t at = 16; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] = std::byte{0xff};
    const DcbAnswer got = parse_dcb(damaged, "ens1");
    EXPECT_TRUE(got.dcb.has_value() || !got.why_not.empty()) << at;
  }
}

TEST(Dcb, ReadsWhatDcbPrints) {
  const Dcb dcb = parse_dcb_text(
      "pfc-cap 8 macsec-bypass off delay 4096\n"
      "prio-pfc 0:off 1:off 6:on 7:on\nrequests 0:1 7:2\nindications 0:3\ndscp-prio 0:0 24:2 24:3 "
      "48:6\n");
  EXPECT_EQ(dcb.paused.to_ulong(), 0xc0u);
  EXPECT_EQ(dcb.pauses_sent, 3u);
  EXPECT_EQ(dcb.pauses_received, 3u);
  EXPECT_EQ(dcb.priorities, (std::map<int, std::set<int>>{{0, {0}}, {24, {2, 3}}, {48, {6}}}));
}

}  // namespace
}  // namespace tickpath::cli::doctor
