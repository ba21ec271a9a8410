// FIX 4.2 and 4.4 tag=value text, encoded and parsed in place.
//
// Source: FIX 4.2 with Errata 20010501 and 4.4 with Errata 20030618, volume 1 of each: "FIX Message
// Format and Delivery" (framing, data types: an int and a float may carry leading zeros, a float
// trailing zeros) and "Checksum Calculation" (appendix B). No allocation, no exception; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/fix/messages.hpp"

namespace tickpath::fix {

inline constexpr char kSoh = '\x01';

// ------------------------------------------------------------------------------------- framing

enum class FrameStatus : std::uint8_t {
  kIncomplete,   // needs more bytes
  kMessage,      // `length` bytes are one message whose length and checksum agree
  kGarbled,      // drop `length` bytes (at least 1): they are not a message
  kBadChecksum,  // `length` bytes are framed like a message, but the checksum is wrong
  kTooLong       // by its BodyLength a message of `length` bytes; they need not all be there
};
struct Frame {
  FrameStatus status;
  std::size_t length;
};

// Looks at the start of `bytes`. A garbled start is skipped up to the next "8=FIX". A message
// longer than `length_max` is kTooLong as soon as its BodyLength (9) is there, unread otherwise.
Frame frame(std::string_view bytes, std::size_t length_max) noexcept;

// Sum of all bytes modulo 256, the value of tag 10.
std::uint8_t checksum(std::string_view bytes) noexcept;

// What a message ends with, "10=nnn" and SOH: the value; -1 if the bytes are something else.
inline constexpr std::size_t kTrailerBytes = 7;
int trailer_sum(std::string_view trailer) noexcept;

// ------------------------------------------------------------------------------------- parsing

namespace detail {
// Reads "tag=" at `at` and goes behind it. False if it is not 1 to 9 digits without a leading zero
// and '='.
bool read_tag(std::string_view text, std::size_t& at, std::uint32_t& tag) noexcept;
}  // namespace detail

// A MsgType (35) as one character. Of two there is one that is read here; it has a character that
// no type can have. 0: any other.
inline constexpr char kMassStatusType = kSoh;
constexpr char type_character(std::string_view type) noexcept {
  return type.size() == 1 ? type[0] : type == "AF" ? kMassStatusType : '\0';
}

// Fields of one message by tag, as views into it; a parsed message is decoded from these.
class Fields {
 public:
  // Indexes a framed message. False if it is not tag=value fields all along, a known tag other than
  // that of a group (448, of which the first is indexed) comes twice, or the first three tags are
  // not 8, 9, 35. bad_tag() names the culprit; it is 0 where not even a tag could be read, and the
  // fields before that place are indexed all the same.
  bool scan(std::string_view message) noexcept;

  // Empty when absent. `tag` must be one of the known tags (codec.cpp), others are not indexed.
  std::string_view get(std::uint32_t tag) const noexcept;
  bool has(std::uint32_t tag) const noexcept;
  std::uint32_t bad_tag() const noexcept { return bad_tag_; }
  // A number in place of a tag that cannot be one ("0", "-1"); empty: none.
  std::string_view bad_number() const noexcept { return bad_number_; }

  // Header shortcuts.
  char msg_type() const noexcept;          // 35: type_character()
  std::uint32_t seq_num() const noexcept;  // 34; 0 if absent or not a number
  bool poss_dup() const noexcept;          // 43=Y
  bool poss_resend() const noexcept;       // 97=Y
  // Any field that few orders have (parse.cpp).
  bool has_rare() const noexcept { return present_[1] != 0; }
  Version version() const noexcept;  // 8: FIX 4.2 unless it says 4.4

 private:
  static constexpr std::size_t kSlots = 128;
  std::string_view values_[kSlots];
  std::uint64_t present_[kSlots / 64] = {};
  std::uint32_t bad_tag_ = 0;
  std::string_view bad_number_;
};

enum class DecodeStatus : std::uint8_t {
  kOk,
  kMissingTag,  // a required field is absent: Business Message Reject, 380=5
  kBadFormat,   // a value that its data type does not allow: Reject, 373=6
  kBadValue,    // well-formed, but outside the field's values: Reject, 373=5
  kTooLong,     // an id or account of more characters than are kept: Business Message Reject, 380=0
};
struct DecodeResult {
  DecodeStatus status = DecodeStatus::kOk;
  std::uint32_t tag = 0;
  explicit operator bool() const noexcept { return status == DecodeStatus::kOk; }
};

DecodeResult decode(const Fields& fields, NewOrderSingle& message) noexcept;
DecodeResult decode(const Fields& fields, OrderCancelRequest& message) noexcept;
DecodeResult decode(const Fields& fields, OrderCancelReplaceRequest& message) noexcept;
DecodeResult decode(const Fields& fields, OrderStatusRequest& message) noexcept;
DecodeResult decode(const Fields& fields, OrderMassStatusRequest& message) noexcept;
DecodeResult decode(const Fields& fields, OrderMassCancelRequest& message) noexcept;
DecodeResult decode(const Fields& fields, OrderMassCancelReport& message) noexcept;
// In the terms of the version that tag 8 names.
DecodeResult decode(const Fields& fields, ExecutionReport& message) noexcept;
DecodeResult decode(const Fields& fields, OrderCancelReject& message) noexcept;
DecodeResult decode(const Fields& fields, MessageReject& message) noexcept;  // 3 and j

// An unsigned decimal, leading zeros allowed. False if empty, too large, or anything else in it.
bool parse_number(std::string_view text, std::uint64_t& value) noexcept;
// A float as Price(4): up to four decimals, trailing zeros allowed, no sign. False as above.
bool parse_price(std::string_view text, Price& price) noexcept;
// Parses a price with any number of decimals. Six are kept, the fifth and sixth in `hundredths` of
// 1/10,000; `exact` says whether those behind them are all 0.
bool parse_executed_price(std::string_view text, Price& price, std::uint8_t& hundredths,
                          bool& exact) noexcept;
// An id field (String): a decimal as itself; any other text as its 64-bit FNV-1a hash with the top
// bit set, so that ids of venues that use letters still compare. False if empty.
bool parse_id(std::string_view text, std::uint64_t& id) noexcept;

// UTCTimestamp "YYYYMMDD-HH:MM:SS", with up to nine decimals of the second, as nanoseconds since
// 1970. False if it is none.
bool parse_utc(std::string_view text, std::int64_t& realtime_ns) noexcept;

// ------------------------------------------------------------------------------------ encoding

// Tag 373 (FIX 4.4, vol. 2, Reject). FIX 4.2 has those up to 11; in a Reject to such a peer the
// others are left to the text.
enum class SessionRejectReason : std::uint8_t {
  kInvalidTag = 0,
  kRequiredTagMissing = 1,
  kTagNotOfMessage = 2,
  kUndefinedTag = 3,
  kNoValue = 4,
  kBadValue = 5,
  kBadFormat = 6,
  kCompId = 9,
  kSendingTime = 10,
  kMsgType = 11,
  kTagTwice = 13,
  kTagOutOfOrder = 14,
  kGroupOutOfOrder = 15,
  kGroupCount = 16,
  kOther = 99,  // the text says what
};
std::string_view describe(SessionRejectReason reason) noexcept;

Route route_back(const Fields& fields) noexcept;
// The message came by way of others, or is for others: it has any of the fields of a route.
bool is_routed(const Fields& fields) noexcept;

// What a session-level Reject says.
struct Refusal {
  std::uint32_t seq_num = 0;    // 45
  std::uint32_t tag = 0;        // 371; 0: absent. Left out for a type that nobody knows, too
  std::string_view msg_type{};  // 372: at most two characters
  SessionRejectReason reason = SessionRejectReason::kInvalidTag;
  Route route{};
  std::string_view number{};  // 371 where the tag is a number that cannot be one
  std::string_view text{};    // 58; empty: the reason's
};

// Tag 380, both versions.
enum class BusinessRejectReason : std::uint8_t {
  kOther = 0,
  kUnsupportedType = 3,
  kConditionallyMissing = 5,
};

// What a Business Message Reject says.
struct BusinessRefusal {
  std::uint32_t seq_num = 0;    // 45
  std::string_view msg_type{};  // 372: at most two characters
  std::string_view id{};        // 379: the message's own; left out if empty or above kRefIdMax
  BusinessRejectReason reason = BusinessRejectReason::kOther;
  std::string_view text{};  // 58
  std::uint32_t tag = 0;    // behind the text, in brackets; 0: none
  Route route{};
};
inline constexpr std::size_t kRefIdMax = 128;

// UTCTimestamp "YYYYMMDD-HH:MM:SS.sss" (FIX 4.2, vol. 1, data types), kept from one call to the
// next: the date is computed once a second.
class UtcText {
 public:
  static constexpr std::size_t kLength = 21;
  // Nanoseconds since 1970, UTC.
  const char* at(std::int64_t realtime_ns) noexcept;

 private:
  void set_second(std::int64_t second) noexcept;
  std::int64_t second_ = -1;
  char text_[kLength] = {};
};

// Writes whole messages: the header is copied from a prepared template and patched (BodyLength four
// digits, MsgSeqNum nine, SendingTime), the body is appended, the checksum closes it.
class Encoder {
 public:
  // CompIDs of 1 to kCompIdMax characters; the caller has checked.
  Encoder(std::string_view sender, std::string_view target,
          Version version = Version::k42) noexcept;

  // `out` has room for kMessageBytesMax. `now` is UtcText::kLength characters, used for SendingTime
  // (52) and TransactTime (60). Returns the length.
  std::size_t encode(char* out, const NewOrderSingle& message, std::uint32_t seq,
                     const char* now) const noexcept;
  std::size_t encode(char* out, const OrderCancelRequest& message, std::uint32_t seq,
                     const char* now) const noexcept;
  std::size_t encode(char* out, const OrderCancelReplaceRequest& message, std::uint32_t seq,
                     const char* now) const noexcept;
  std::size_t encode(char* out, const OrderStatusRequest& message, std::uint32_t seq,
                     const char* now) const noexcept;
  // FIX 4.4 alone has these two.
  std::size_t encode(char* out, const OrderMassCancelRequest& message, std::uint32_t seq,
                     const char* now) const noexcept;
  std::size_t encode(char* out, const OrderMassCancelReport& message, std::uint32_t seq,
                     const char* now) const noexcept;
  std::size_t encode(char* out, const ExecutionReport& message, std::uint32_t seq,
                     const char* now) const noexcept;
  std::size_t encode(char* out, const OrderCancelReject& message, std::uint32_t seq,
                     const char* now) const noexcept;
  // Heartbeat, MsgType 0; test_request_id (112) empty when it answers none, at most kTextMax.
  std::size_t encode_heartbeat(char* out, std::string_view test_request_id, std::uint32_t seq,
                               const char* now) const noexcept;
  // Logout, MsgType 5.
  std::size_t encode_logout(char* out, std::string_view text, std::uint32_t seq,
                            const char* now) const noexcept;
  // Reject, MsgType 3.
  std::size_t encode_reject(char* out, const Refusal& refusal, std::uint32_t seq,
                            const char* now) const noexcept;
  // Business Message Reject, MsgType j.
  std::size_t encode_business_reject(char* out, const BusinessRefusal& refusal, std::uint32_t seq,
                                     const char* now) const noexcept;
  // `message`, of up to kMessageBytesMax, once more: PossDupFlag (43), SendingTime `now`, and the
  // time when it was sent first as OrigSendingTime (122). `out` has room for kResentBytesMax.
  std::size_t encode_again(char* out, std::string_view message, const char* now) const noexcept;
  // `message`, which was never sent, under another number.
  std::size_t encode_renumbered(char* out, std::string_view message, std::uint32_t seq,
                                const char* now) const noexcept;
  // SequenceReset, MsgType 4, with GapFillFlag: nothing comes with the numbers from `seq` to before
  // `next`.
  std::size_t encode_gap_fill(char* out, std::uint32_t seq, std::uint32_t next,
                              const char* now) const noexcept;

 private:
  class Body;
  char* begin(char* out, char msg_type, std::uint32_t seq, const char* now) const noexcept;
  static std::size_t finish(char* out, char* end) noexcept;
  char status_of(const ExecutionReport& message) const noexcept;

  // "8=FIX.4.2|9=0000|35=?|49=..|56=..|34=000000000|52=...|" with | for SOH
  char header_[64 + 2 * kCompIdMax + UtcText::kLength] = {};
  std::size_t header_bytes_ = 0;
  std::size_t seq_at_ = 0;
  std::size_t time_at_ = 0;
  Version version_;
};

}  // namespace tickpath::fix
