#include "common/feeds/itch/soupbintcp.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "common/base/check.hpp"
#include "common/feeds/itch/detail/byte_order.hpp"

namespace tickpath::itch::soup {
namespace {

std::string_view text_of(std::span<const std::byte> field) noexcept {
  return {reinterpret_cast<const char*>(field.data()), field.size()};
}

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

template <std::size_t N>
Alpha<N> alpha_of(std::span<const std::byte> field) noexcept {
  return Alpha<N>(trimmed(text_of(field)));
}

template <std::size_t N>
void store_left(const Alpha<N>& text, std::byte* to) noexcept {
  std::transform(text.characters.begin(), text.characters.end(), to,
                 [](char character) { return static_cast<std::byte>(character); });
}

template <std::size_t N>
void store_right(const Alpha<N>& text, std::byte* to) noexcept {
  const std::string_view characters = text.view();
  std::fill_n(to, N, std::byte{' '});
  std::transform(characters.begin(), characters.end(), to + (N - characters.size()),
                 [](char character) { return static_cast<std::byte>(character); });
}

}  // namespace

ReadStatus read_packet(std::span<const std::byte> stream, Packet& packet,
                       std::size_t& consumed) noexcept {
  consumed = 0;
  if (stream.size() < kLengthBytes) return ReadStatus::kIncomplete;
  const std::size_t length = detail::load_big_endian<std::uint16_t>(stream.data());
  if (length == 0) return ReadStatus::kDamaged;
  if (stream.size() - kLengthBytes < length) return ReadStatus::kIncomplete;
  packet.type = static_cast<PacketType>(stream[kLengthBytes]);
  packet.payload = stream.subspan(kHeaderBytes, length - 1);
  consumed = kLengthBytes + length;
  return ReadStatus::kPacket;
}

void append_packet(std::vector<std::byte>& to, PacketType type,
                   std::span<const std::byte> payload) {
  TICKPATH_CHECK(payload.size() <= kMaxPayloadBytes, "a payload has at most 65,534 bytes");
  std::array<std::byte, kHeaderBytes> header;
  detail::store_big_endian(header.data(), static_cast<std::uint16_t>(payload.size() + 1));
  header[kLengthBytes] = static_cast<std::byte>(type);
  to.insert(to.end(), header.begin(), header.end());
  to.insert(to.end(), payload.begin(), payload.end());
}

void append(std::vector<std::byte>& to, const LoginRequest& login) {
  std::array<std::byte, LoginRequest::kLength> payload;
  store_left(login.username, payload.data());
  store_left(login.password, payload.data() + 6);
  store_right(login.session, payload.data() + 16);
  store_number(login.sequence_number, std::span(payload).subspan(26));
  append_packet(to, PacketType::kLoginRequest, payload);
}

void append(std::vector<std::byte>& to, const LoginAccepted& accepted) {
  std::array<std::byte, LoginAccepted::kLength> payload;
  store_right(accepted.session, payload.data());
  store_number(accepted.sequence_number, std::span(payload).subspan(10));
  append_packet(to, PacketType::kLoginAccepted, payload);
}

void append(std::vector<std::byte>& to, RejectReason reason) {
  const std::array<std::byte, 1> payload{static_cast<std::byte>(reason)};
  append_packet(to, PacketType::kLoginRejected, payload);
}

std::optional<LoginRequest> parse_login_request(std::span<const std::byte> payload) noexcept {
  if (payload.size() != LoginRequest::kLength) return std::nullopt;
  const std::optional<std::uint64_t> number = parse_number(payload.subspan(26));
  if (!number) return std::nullopt;
  return LoginRequest{alpha_of<6>(payload.first(6)), alpha_of<10>(payload.subspan(6, 10)),
                      alpha_of<10>(payload.subspan(16, 10)), *number};
}

std::optional<LoginAccepted> parse_login_accepted(std::span<const std::byte> payload) noexcept {
  if (payload.size() != LoginAccepted::kLength) return std::nullopt;
  const std::optional<std::uint64_t> number = parse_number(payload.subspan(10));
  if (!number) return std::nullopt;
  return LoginAccepted{alpha_of<10>(payload.first(10)), *number};
}

std::optional<std::uint64_t> parse_number(std::span<const std::byte> field) noexcept {
  const std::string_view digits = trimmed(text_of(field));
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

void store_number(std::uint64_t number, std::span<std::byte> field) noexcept {
  TICKPATH_CHECK(field.size() >= kNumberBytes, "a number has up to 20 digits");
  std::ranges::fill(field, std::byte{' '});
  std::size_t at = field.size();
  do {
    field[--at] = static_cast<std::byte>('0' + number % 10);
    number /= 10;
  } while (number != 0);
}

}  // namespace tickpath::itch::soup
