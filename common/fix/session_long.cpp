// Messages of the peer that are longer than a Session reads.
#include <cstdio>

#include "common/fix/detail/session_impl.hpp"

namespace tickpath::fix {
namespace {

constexpr std::string_view kLongText = "longer than 32768 bytes: not read";

// A message of the same header and nothing else, by which its number is counted.
class StandIn {
 public:
  StandIn(const Fields& fields, std::string_view type) noexcept {
    add("35=").add(type).add({&kSoh, 1});
    for (const Tag tag : kTags)
      if (fields.has(tag.number))
        add(tag.text).add(fields.get(tag.number).substr(0, kValueMax)).add({&kSoh, 1});
    close(fields.get(8).substr(0, kValueMax));
  }
  std::string_view text() const noexcept { return {text_ + begin_, end_ - begin_}; }

 private:
  struct Tag {
    std::uint32_t number;
    std::string_view text;
  };
  static constexpr Tag kTags[] = {{49, "49="}, {56, "56="}, {34, "34="},  {43, "43="},
                                  {97, "97="}, {52, "52="}, {122, "122="}};
  // No value of these is longer that a session could go on with.
  static constexpr std::size_t kValueMax = 64;
  static constexpr std::size_t kFrontBytes = 128;  // for 8 and 9, which come last

  StandIn& add(std::string_view text) noexcept {
    std::memcpy(text_ + end_, text.data(), text.size());
    end_ += text.size();
    return *this;
  }
  void close(std::string_view begin_string) noexcept {
    char front[kFrontBytes];
    const int bytes = std::snprintf(front, sizeof(front), "8=%.*s\0019=%zu\001",
                                    static_cast<int>(begin_string.size()), begin_string.data(),
                                    end_ - kFrontBytes);
    begin_ = kFrontBytes - static_cast<std::size_t>(bytes);
    std::memcpy(text_ + begin_, front, static_cast<std::size_t>(bytes));
    char trailer[16];
    const int end = std::snprintf(trailer, sizeof(trailer), "10=%03u\001", checksum(text()));
    add({trailer, static_cast<std::size_t>(end)});
  }

  char text_[kFrontBytes + 1024];
  std::size_t begin_ = 0;
  std::size_t end_ = kFrontBytes;
};

}  // namespace

// Before a logon nobody's word is good for so many bytes.
void Session::Impl::begin_long(std::size_t length) noexcept {
  if (logged_on()) return long_.begin(length);
  drop("a message before the logon is longer than 32768 bytes");
  rx_begin_ = rx_end_;
}

void Session::Impl::read_past(std::string_view bytes) noexcept {
  rx_begin_ += long_.take(bytes);
  last_received_ = info_.received;  // whoever sends it is there
  received_since_sync_ = true;
  if (!long_.under_way()) take_long();
}

// The whole message has been read past. Its checksum is right, so asking for it again would bring
// the same bytes: a Reject answers it (FIX 4.2 and 4.4, vol. 2, Reject). Behind a gap it counts as
// not received: the peer sends it again with what is missing.
void Session::Impl::take_long() noexcept {
  if (!long_.intact()) return counters_.garbled.add();
  counters_.received.add();
  counters_.too_long.add();
  (void)fields_.scan(long_.head());
  tell_long();
  const char type = fields_.msg_type();
  const bool logout = type == '5';  // it needs no more than its header
  const StandIn stand_in(fields_, logout ? "5" : "0");
  const std::uint32_t seq = fields_.seq_num();
  if (!logout && is_peers() && seq > store_.next_target()) {
    counters_.gap_overflows.add();
    if (!behind_gap()) ask_for_what_is_before(seq, stand_in.text());
    return;
  }
  // Two sides could go on for ever refusing each other's Rejects.
  if (is_peers() && seq == store_.next_target() && !logout && type != '0' && type != '3')
    refuse_long();
  handle(stand_in.text());
}

void Session::Impl::refuse_long() noexcept {
  take_info(long_.head());
  counters_.rejected.add();
  constexpr std::uint32_t kBodyLength = 9;
  if (!detail::is_admin(fields_.msg_type())) tell_refused(kBodyLength, kLongText);
  send_admin([&](char* out, std::uint32_t seq, const char* now) {
    return encoder_.encode_reject(out,
                                  {info_.seq_num,
                                   kBodyLength,
                                   fields_.get(35),
                                   SessionRejectReason::kOther,
                                   route_back(fields_),
                                   {},
                                   kLongText},
                                  seq, now);
  });
}

void Session::Impl::tell_long() noexcept {
  char line[EventLine::kTextBytes];
  const std::string_view type = fields_.get(35).substr(0, 2);
  const int bytes =
      std::snprintf(line, sizeof(line),
                    "message %u of type %.*s has %zu bytes, more than the 32768 that are read",
                    fields_.seq_num(), static_cast<int>(type.size()), type.data(), long_.length());
  on_event(line, static_cast<std::size_t>(bytes));
}

}  // namespace tickpath::fix
