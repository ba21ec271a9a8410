#include <algorithm>
#include <array>
#include <chrono>

#include "common/base/fnv.hpp"
#include "common/fix/codec.hpp"
#include "common/fix/detail/dictionary_fields.hpp"
#include "common/fix/dictionary.hpp"

namespace tickpath::fix {
namespace {

// The tags that are indexed; a tag's position here is its slot.
constexpr std::uint32_t kKnownTags[] = {
    1,   6,   8,   9,   10,  11,  12,  13,  14,  17,  18,  19,  20,  21,  31,  32,
    34,  35,  36,  37,  38,  39,  40,  41,  43,  44,  45,  49,  52,  54,  55,  56,
    58,  59,  60,  97,  98,  99,  102, 103, 108, 110, 111, 112, 122, 123, 141, 150,
    151, 371, 372, 373, 379, 380, 434, 448, 530, 531, 532, 533, 584, 585, 790,
};
static_assert(std::size(kKnownTags) <= 64);
// Tags that few orders have: looked at together (Fields::has_rare()).
constexpr std::uint32_t kRareTags[] = {
    15,  22,  48,  63,  64,  65,  100, 115, 116, 120, 126, 128, 129,
    144, 145, 152, 167, 168, 210, 211, 336, 386, 388, 389, 432, 625,
};
static_assert(std::size(kRareTags) <= 64);
constexpr std::uint8_t kFirstRareSlot = 64;

// Highest known tag, bound of the lookup table.
constexpr std::uint32_t kTagMax = 790;
constexpr std::uint8_t kNoSlot = 0xff;

// The length of a data field, which follows it directly. None of them is indexed.
constexpr std::uint8_t kDataLength = 0xfe;

constexpr auto kSlotOfTag = [] {
  std::array<std::uint8_t, kTagMax + 1> table{};
  for (auto& slot : table) slot = kNoSlot;
  for (const detail::Field& field : detail::kFields)
    if (field.type == detail::FieldType::kLength && field.tag != 9) table[field.tag] = kDataLength;
  std::uint8_t slot = 0;
  for (std::uint32_t tag : kKnownTags) table[tag] = slot++;
  slot = kFirstRareSlot;
  for (std::uint32_t tag : kRareTags) table[tag] = slot++;
  return table;
}();

constexpr std::uint8_t slot_of(std::uint32_t tag) noexcept {
  return tag <= kTagMax ? kSlotOfTag[tag] : kNoSlot;
}

// The text before '=' if it is a number, of the length that a tag may have; else nothing.
std::string_view number_at(std::string_view message, std::size_t at) noexcept {
  constexpr std::size_t kDigitsMax = 9;
  const std::size_t end = message.find('=', at);
  if (end == std::string_view::npos) return {};
  const std::string_view text = message.substr(at, end - at);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool number = !digits.empty() && digits.size() <= kDigitsMax &&
                      digits.find_first_not_of("0123456789") == std::string_view::npos;
  return number ? text : std::string_view{};
}

}  // namespace

namespace detail {

bool read_tag(std::string_view text, std::size_t& at, std::uint32_t& tag) noexcept {
  tag = 0;
  const std::size_t start = at;
  for (; at < text.size(); ++at) {
    const auto digit = static_cast<unsigned>(text[at] - '0');
    if (digit > 9) break;
    if (at - start == 9) return false;
    tag = tag * 10 + digit;
  }
  if (at == text.size() || text[at] != '=' || tag == 0 || text[start] == '0') return false;
  ++at;
  return true;
}

}  // namespace detail

bool Fields::scan(std::string_view message) noexcept {
  present_[0] = present_[1] = 0;
  bad_tag_ = 0;
  bad_number_ = {};
  std::size_t at = 0;
  std::size_t data_bytes = 0;
  std::uint32_t data_tag = 0;  // what the next field must be; 0: anything
  for (unsigned index = 0; at < message.size(); ++index) {
    std::uint32_t tag = 0;
    const std::size_t begin = at;
    if (!detail::read_tag(message, at, tag)) {
      bad_number_ = number_at(message, begin);
      return false;
    }
    if (index < 3 && tag != (index == 0 ? 8u : index == 1 ? 9u : 35u)) {
      bad_tag_ = tag;
      return false;
    }
    const std::size_t end = data_tag != 0 ? at + data_bytes : message.find(kSoh, at);
    if ((data_tag != 0 && tag != data_tag) || end >= message.size() || message[end] != kSoh ||
        end == at) {
      bad_tag_ = tag;
      return false;
    }
    const std::string_view value = message.substr(at, end - at);
    const std::uint8_t slot = slot_of(tag);
    data_tag = slot == kDataLength ? detail::data_tag_of(tag) : 0;
    if (data_tag != 0) {
      std::uint64_t bytes = 0;
      if (!parse_number(value, bytes) || bytes > message.size()) {
        bad_tag_ = tag;
        return false;
      }
      data_bytes = static_cast<std::size_t>(bytes);
    }
    if (slot < kSlots) {
      const std::uint64_t bit = std::uint64_t{1} << slot % 64;
      std::uint64_t& present = present_[slot / 64];
      if ((present & bit) == 0) {
        present |= bit;
        values_[slot] = value;
      } else if (!detail::in_group(version(), get(35), tag)) {
        bad_tag_ = tag;
        return false;
      }
    }
    at = end + 1;
  }
  return has(35);
}

bool Fields::has(std::uint32_t tag) const noexcept {
  const std::uint8_t slot = slot_of(tag);
  return slot < kSlots && (present_[slot / 64] >> slot % 64 & 1) != 0;
}

std::string_view Fields::get(std::uint32_t tag) const noexcept {
  return has(tag) ? values_[slot_of(tag)] : std::string_view{};
}

char Fields::msg_type() const noexcept { return type_character(get(35)); }

std::uint32_t Fields::seq_num() const noexcept {
  std::uint64_t value = 0;
  // QuickFIX keeps sequence numbers in an int.
  if (!parse_number(get(34), value) || value > 0x7fff'ffff) return 0;
  return static_cast<std::uint32_t>(value);
}

Version Fields::version() const noexcept {
  return get(8) == begin_string(Version::k44) ? Version::k44 : Version::k42;
}

bool Fields::poss_dup() const noexcept { return get(43) == "Y"; }
bool Fields::poss_resend() const noexcept { return get(97) == "Y"; }

bool parse_number(std::string_view text, std::uint64_t& value) noexcept {
  if (text.empty()) return false;
  std::uint64_t result = 0;
  for (char c : text) {
    const auto digit = static_cast<unsigned>(c - '0');
    if (digit > 9 || result > (~std::uint64_t{0} - digit) / 10) return false;
    result = result * 10 + digit;
  }
  value = result;
  return true;
}

bool parse_price(std::string_view text, Price& price) noexcept {
  const std::size_t point = text.find('.');
  std::uint64_t whole = 0;
  const std::string_view integer = text.substr(0, point);
  // ".5" and "5." are floats too; "." and "" are not.
  if (!integer.empty() && !parse_number(integer, whole)) return false;
  std::string_view decimals =
      point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
  if (integer.empty() && decimals.empty()) return false;
  std::uint64_t fraction = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    fraction *= 10;
    if (i >= decimals.size()) continue;
    const auto digit = static_cast<unsigned>(decimals[i] - '0');
    if (digit > 9) return false;
    fraction += digit;
  }
  for (std::size_t i = 4; i < decimals.size(); ++i)
    if (decimals[i] != '0') return false;
  // Beyond this a price times any quantity could overflow.
  if (whole > 1'000'000'000'000) return false;
  price.value = static_cast<std::int64_t>(whole * kPriceScale + fraction);
  return true;
}

bool parse_executed_price(std::string_view text, Price& price, std::uint8_t& hundredths,
                          bool& exact) noexcept {
  const std::size_t point = text.find('.');
  const std::size_t kept =
      point == std::string_view::npos ? text.size() : std::min(text.size(), point + 5);
  if (!parse_price(text.substr(0, kept), price)) return false;
  hundredths = 0;
  exact = true;
  for (std::size_t i = kept; i < text.size(); ++i) {
    const auto digit = static_cast<unsigned>(text[i] - '0');
    if (digit > 9) return false;
    if (i - kept < 2)
      hundredths = static_cast<std::uint8_t>(hundredths + (i == kept ? digit * 10 : digit));
    else if (digit != 0)
      exact = false;
  }
  return true;
}

bool parse_id(std::string_view text, std::uint64_t& id) noexcept {
  if (text.empty()) return false;
  if (parse_number(text, id)) return true;
  id = fnv1a(text) | std::uint64_t{1} << 63;
  return true;
}

bool parse_utc(std::string_view text, std::int64_t& realtime_ns) noexcept {
  if (text.size() < 17 || text[8] != '-' || text[11] != ':' || text[14] != ':') return false;
  bool good = true;
  const auto number = [&](std::size_t at, std::size_t digits) {
    std::uint64_t value = 0;
    good &= parse_number(text.substr(at, digits), value);
    return value;
  };
  const std::uint64_t date[] = {number(0, 4), number(4, 2), number(6, 2)};
  const std::uint64_t time[] = {number(9, 2), number(12, 2), number(15, 2)};
  std::uint64_t nanoseconds = 0;
  if (text.size() > 17) {
    const std::string_view decimals = text.substr(18);
    good &= text[17] == '.' && decimals.size() <= 9 && parse_number(decimals, nanoseconds);
    for (std::size_t digits = decimals.size(); digits < 9; ++digits) nanoseconds *= 10;
  }
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(date[0])),
                                        std::chrono::month(static_cast<unsigned>(date[1])),
                                        std::chrono::day(static_cast<unsigned>(date[2]))};
  // 60: a leap second.
  if (!good || !day.ok() || time[0] > 23 || time[1] > 59 || time[2] > 60) return false;
  const auto days = std::chrono::sys_days(day).time_since_epoch().count();
  const auto seconds = std::int64_t{days} * 86'400 +
                       static_cast<std::int64_t>(time[0] * 3600 + time[1] * 60 + time[2]);
  realtime_ns = seconds * 1'000'000'000 + static_cast<std::int64_t>(nanoseconds);
  return true;
}

}  // namespace tickpath::fix
