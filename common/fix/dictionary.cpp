#include "common/fix/dictionary.hpp"

#include <array>

#include "common/fix/detail/dictionary_table.hpp"

namespace tickpath::fix {
namespace {

using detail::Field;
using detail::FieldType;

constexpr std::size_t kFieldCount = std::size(detail::kFields);
constexpr std::uint16_t kNoField = 0xffff;
static_assert(kFieldCount < kNoField);

// A field's place in kFields, by tag.
constexpr auto kFieldOfTag = [] {
  std::array<std::uint16_t, detail::kTagMax44 + 1> table{};
  table.fill(kNoField);
  std::uint16_t index = 0;
  for (const Field& field : detail::kFields) table[field.tag] = index++;
  return table;
}();

constexpr std::uint16_t field_of(std::uint32_t tag) noexcept {
  return tag < kFieldOfTag.size() ? kFieldOfTag[tag] : kNoField;
}

// A set of fields.
class FieldSet {
 public:
  constexpr void add(std::size_t field) noexcept {
    words_[field / 64] |= std::uint64_t{1} << field % 64;
  }
  constexpr bool has(std::size_t field) const noexcept {
    return (words_[field / 64] >> field % 64 & 1) != 0;
  }
  // The first that is here and not in `other`; kFieldCount: none.
  constexpr std::size_t first_beyond(const FieldSet& other) const noexcept {
    for (std::size_t word = 0; word < words_.size(); ++word)
      if (const std::uint64_t left = words_[word] & ~other.words_[word]; left != 0)
        return word * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
    return kFieldCount;
  }

 private:
  std::array<std::uint64_t, (kFieldCount + 63) / 64> words_{};
};

// What a version asks of a message, or of header and trailer.
struct Rules {
  FieldSet allowed;
  FieldSet required;
  FieldSet grouped;  // in a repeating group
  FieldSet firsts;   // of a group's entries
  // By field: the count of the group that it is in; 0: none.
  std::array<std::uint16_t, kFieldCount> group{};
  bool defined = false;
};

constexpr Rules rules_of(const detail::Message& message, bool v44) {
  Rules rules;
  detail::for_each_use(message, v44, [&rules](const detail::Use& use) {
    const std::uint16_t field = kFieldOfTag[use.tag];
    rules.defined = true;
    rules.allowed.add(field);
    if (use.required) rules.required.add(field);
    if (use.group == 0) return;
    rules.grouped.add(field);
    if (use.first) rules.firsts.add(field);
    rules.group[field] = use.group;
  });
  return rules;
}

struct VersionRules {
  Rules header;
  Rules trailer;
  std::array<Rules, std::size(detail::kMessages)> body;
};

constexpr VersionRules version_rules(bool v44) {
  VersionRules rules;
  rules.header = rules_of(detail::kHeader, v44);
  rules.trailer = rules_of(detail::kTrailer, v44);
  std::size_t index = 0;
  for (const detail::Message& message : detail::kMessages)
    rules.body[index++] = rules_of(message, v44);
  return rules;
}

constexpr VersionRules kRules42 = version_rules(false);
constexpr VersionRules kRules44 = version_rules(true);

const VersionRules& rules_of(Version version) noexcept {
  return version == Version::k44 ? kRules44 : kRules42;
}

// A message's place in kMessages, by type as one character.
constexpr std::uint8_t kNoMessage = 0xff;
constexpr auto kMessageOfType = [] {
  std::array<std::uint8_t, 128> table{};
  table.fill(kNoMessage);
  std::uint8_t index = 0;
  for (const detail::Message& message : detail::kMessages)
    table[static_cast<unsigned char>(type_character(message.type))] = index++;
  return table;
}();

const Rules* rules_of_type(Version version, std::string_view type) noexcept {
  const auto character = static_cast<unsigned char>(type_character(type));
  if (character >= kMessageOfType.size() || kMessageOfType[character] == kNoMessage) return nullptr;
  const std::uint8_t index = kMessageOfType[character];
  const Rules& rules = rules_of(version).body[index];
  return rules.defined ? &rules : nullptr;
}

bool is_standard_type(Version version, std::string_view type) noexcept {
  if (type.empty()) return false;
  if (type[0] == 'U') return true;  // user-defined
  const bool v44 = version == Version::k44;
  if (type.size() == 1)
    return (v44 ? detail::kTypes44 : detail::kTypes42).find(type[0]) != std::string_view::npos;
  if (!v44 || type.size() != 2) return false;
  return type[0] == 'A' ? type[1] >= 'A' && type[1] <= 'Z'
                        : type[0] == 'B' && type[1] >= 'A' && type[1] <= 'H';
}

// ---------------------------------------------------------------------------------- data types

bool all_digits(std::string_view text) noexcept {
  for (char c : text)
    if (c < '0' || c > '9') return false;
  return !text.empty();
}

bool is_float(std::string_view text) noexcept {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return all_digits(text);
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = text.substr(point + 1);
  return (!whole.empty() || !fraction.empty()) && (whole.empty() || all_digits(whole)) &&
         (fraction.empty() || all_digits(fraction));
}

// "YYYYMMDD-HH:MM:SS", with decimals of the second or without.
bool is_time(std::string_view text) noexcept {
  if (text.size() < 17 || text[8] != '-' || text[11] != ':' || text[14] != ':') return false;
  const auto number = [text](std::size_t at, std::size_t digits) {
    std::uint64_t value = 0;
    return parse_number(text.substr(at, digits), value) ? value : ~std::uint64_t{0};
  };
  const std::uint64_t month = number(4, 2);
  const std::uint64_t day = number(6, 2);
  return all_digits(text.substr(0, 4)) && month >= 1 && month <= 12 && day >= 1 && day <= 31 &&
         number(9, 2) <= 23 && number(12, 2) <= 59 && number(15, 2) <= 60 &&
         (text.size() == 17 || (text[17] == '.' && all_digits(text.substr(18))));
}

using Reason = SessionRejectReason;

// values: each between two spaces.
bool is_among(std::string_view value, std::string_view values) noexcept {
  if (value.find(' ') != std::string_view::npos) return false;
  std::size_t at = values.find(value);
  while (at != std::string_view::npos &&
         (values[at - 1] != ' ' || values[at + value.size()] != ' '))
    at = values.find(value, at + 1);
  return at != std::string_view::npos;
}

// Whether a value is what its field allows; says what is wrong.
bool fits(const Field& field, bool v44, std::string_view value, Reason& reason) noexcept {
  reason = Reason::kBadFormat;
  const std::string_view values = v44 ? field.values44 : field.values42;
  const std::uint64_t most = v44 ? field.max44 : field.max42;
  std::uint64_t number = 0;
  switch (field.type) {
    case FieldType::kString:
    case FieldType::kData:
      return true;
    case FieldType::kChar:
      reason = Reason::kBadValue;
      return value.size() == 1 &&
             (values.empty() || values.find(value[0]) != std::string_view::npos);
    case FieldType::kCode:
      reason = Reason::kBadValue;
      return is_among(value, values);
    case FieldType::kInt:
      if (!all_digits(value[0] == '-' ? value.substr(1) : value)) return false;
      reason = Reason::kBadValue;
      return most == 0 ||
             (parse_number(value, number) && (number <= most || (v44 && number == 99)));
    case FieldType::kFloat:
      return is_float(value);
    case FieldType::kBoolean:
      reason = Reason::kBadValue;
      return value == "Y" || value == "N";
    case FieldType::kTime:
      return is_time(value);
    case FieldType::kLength:
    case FieldType::kGroup:
    case FieldType::kSeqNum:
      return parse_number(value, number);
  }
  return false;
}

// ------------------------------------------------------------------------------------- a message

// Goes through a message field by field.
class Check {
 public:
  Check(Version version, const Rules& body, Violation& violation) noexcept
      : v44_(version == Version::k44),
        common_(rules_of(version)),
        body_(body),
        violation_(violation) {}

  bool run(std::string_view message) noexcept {
    std::size_t at = 0;
    while (at < message.size()) {
      std::uint32_t tag = 0;
      if (!detail::read_tag(message, at, tag)) return fail(Reason::kInvalidTag, 0);
      std::size_t end = message.find(kSoh, at);
      if (data_bytes_ != kNoData) {
        if (tag != data_tag_) return fail(Reason::kTagOutOfOrder, tag);
        end = at + data_bytes_;
        data_bytes_ = kNoData;
        if (end >= message.size() || message[end] != kSoh) return fail(Reason::kBadFormat, tag);
      }
      if (end == std::string_view::npos || end == at) return fail(Reason::kNoValue, tag);
      if (!take(tag, message.substr(at, end - at))) return false;
      at = end + 1;
    }
    return complete();
  }

 private:
  static constexpr std::size_t kNoData = ~std::size_t{0};
  enum class Where : std::uint8_t { kHeader, kBody, kTrailer };

  bool fail(Reason reason, std::uint32_t tag) noexcept {
    violation_ = {reason, tag};
    return false;
  }

  bool take(std::uint32_t tag, std::string_view value) noexcept {
    if (tag >= detail::kUserTagMin) {
      where_ = where_ == Where::kTrailer ? where_ : Where::kBody;
      return true;
    }
    if (tag > (v44_ ? detail::kTagMax44 : detail::kTagMax42)) return fail(Reason::kInvalidTag, tag);
    const std::uint16_t field = field_of(tag);
    if (field == kNoField) return fail(Reason::kTagNotOfMessage, tag);
    if (!place(field, tag) || !enter_group(field, tag)) return false;
    if (seen_.has(field) && !rules_->grouped.has(field)) return fail(Reason::kTagTwice, tag);
    seen_.add(field);
    Reason reason{};
    if (!fits(detail::kFields[field], v44_, value, reason)) return fail(reason, tag);
    return follow(field, tag, value);
  }

  // Header, body, trailer: in this order.
  bool place(std::uint16_t field, std::uint32_t tag) noexcept {
    const Where belongs = common_.header.allowed.has(field)    ? Where::kHeader
                          : common_.trailer.allowed.has(field) ? Where::kTrailer
                                                               : Where::kBody;
    rules_ = belongs == Where::kHeader ? &common_.header : &body_;
    if (belongs == Where::kBody && !body_.allowed.has(field))
      return fail(Reason::kTagNotOfMessage, tag);
    if (belongs < where_) return fail(Reason::kTagOutOfOrder, tag);
    where_ = belongs;
    return true;
  }

  // Ends the groups that a field is not in, and finds it in its own.
  bool enter_group(std::uint16_t field, std::uint32_t tag) noexcept {
    const std::uint16_t group = rules_->group[field];
    while (depth_ != 0 && groups_[depth_ - 1].count != group)
      if (!leave_group()) return false;
    if (group == 0) return true;
    const bool begins = rules_->firsts.has(field);
    if (depth_ == 0 || (groups_[depth_ - 1].entries == 0 && !begins))
      return fail(Reason::kGroupOutOfOrder, tag);
    groups_[depth_ - 1].entries += begins ? 1 : 0;
    return true;
  }

  bool leave_group() noexcept {
    const Group& group = groups_[--depth_];
    return group.entries == group.entries_said || fail(Reason::kGroupCount, group.count);
  }

  // What a field says about the next ones.
  bool follow(std::uint16_t field, std::uint32_t tag, std::string_view value) noexcept {
    const FieldType type = detail::kFields[field].type;
    std::uint64_t number = 0;
    if (type == FieldType::kLength && tag != 9) {
      (void)parse_number(value, number);
      data_bytes_ = static_cast<std::size_t>(number < kDataMax ? number : kDataMax);
      data_tag_ = detail::data_tag_of(tag);
    }
    if (type != FieldType::kGroup) return true;
    (void)parse_number(value, number);
    // No list nests deeper.
    if (depth_ == groups_.size()) return fail(Reason::kGroupOutOfOrder, tag);
    groups_[depth_++] = {static_cast<std::uint16_t>(tag), number, 0};
    return true;
  }

  bool complete() noexcept {
    while (depth_ != 0)
      if (!leave_group()) return false;
    for (const Rules* rules : {&common_.header, &body_, &common_.trailer}) {
      const std::size_t missing = rules->required.first_beyond(seen_);
      if (missing != kFieldCount)
        return fail(Reason::kRequiredTagMissing, detail::kFields[missing].tag);
    }
    return true;
  }

  // Longer than any message: the data then has no end.
  static constexpr std::uint64_t kDataMax = 1u << 30;

  const bool v44_;
  const VersionRules& common_;
  const Rules& body_;
  Violation& violation_;
  FieldSet seen_;
  Where where_ = Where::kHeader;
  std::size_t data_bytes_ = kNoData;  // of the next field, whose tag then is
  std::uint32_t data_tag_ = 0;
  // The repeating groups that the next field may be in, innermost last: legs, their parties, and
  // those parties' sub-ids are the deepest.
  struct Group {
    std::uint16_t count = 0;  // the tag
    std::uint64_t entries_said = 0;
    std::uint64_t entries = 0;
  };
  std::array<Group, 4> groups_{};
  std::size_t depth_ = 0;
  const Rules* rules_ = nullptr;  // of the field at hand
};

// The value of tag 35, which is the third field of a framed message; empty if it is not.
std::string_view type_of(std::string_view message) noexcept {
  std::size_t at = message.find(kSoh);
  if (at != std::string_view::npos) at = message.find(kSoh, at + 1);
  if (at == std::string_view::npos || message.substr(at + 1, 3) != "35=") return {};
  const std::size_t end = message.find(kSoh, at + 4);
  return end == std::string_view::npos ? std::string_view{} : message.substr(at + 4, end - at - 4);
}

}  // namespace

bool conforms(Version version, std::string_view message, Violation& violation) noexcept {
  const std::string_view type = type_of(message);
  const Rules* const rules = rules_of_type(version, type);
  if (rules != nullptr) return Check(version, *rules, violation).run(message);
  if (is_standard_type(version, type)) return true;  // valid, and none of ours
  violation = {type.empty() ? Reason::kTagOutOfOrder : Reason::kMsgType, 35};
  return false;
}

namespace detail {

bool is_session_number(std::uint32_t tag) noexcept {
  const std::uint16_t field = field_of(tag);
  // HeartBtInt (108) of a Logon is judged as text, and answered by a Logout that says so.
  if (field == kNoField || tag == 108) return false;
  switch (kFields[field].type) {
    case FieldType::kSeqNum:
    case FieldType::kLength:
    case FieldType::kGroup:
    case FieldType::kInt:
      return true;
    default:
      return false;
  }
}

bool in_group(Version version, std::string_view type, std::uint32_t tag) noexcept {
  const Rules* const rules = rules_of_type(version, type);
  const std::uint16_t field = field_of(tag);
  return rules != nullptr && field != kNoField && rules->grouped.has(field);
}

}  // namespace detail

}  // namespace tickpath::fix
