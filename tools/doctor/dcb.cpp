#include "tools/doctor/dcb.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <sstream>

#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace tickpath::cli::doctor {
namespace {

// More than any answer: ETS, PFC and 64 DSCP entries are below 2 kB.
constexpr std::size_t kAnswerBytesMax = 32768;

template <class T>
std::optional<T> at_front(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

using OnAttribute = std::function<void(int type, std::span<const std::byte> payload)>;

// Each attribute that is whole. Layout of <linux/netlink.h>: length with header, type, payload, all
// aligned to four bytes.
void each_attribute(std::span<const std::byte> bytes, const OnAttribute& call) {
  while (const auto head = at_front<nlattr>(bytes)) {
    if (head->nla_len < NLA_HDRLEN || head->nla_len > bytes.size()) return;
    call(head->nla_type & NLA_TYPE_MASK, bytes.subspan(NLA_HDRLEN, head->nla_len - NLA_HDRLEN));
    bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(head->nla_len), bytes.size()));
  }
}

void read_pfc(std::span<const std::byte> payload, Dcb& dcb) {
  const auto pfc = at_front<ieee_pfc>(payload);
  if (!pfc) return;
  dcb.paused = pfc->pfc_en;
  for (const auto count : pfc->requests) dcb.pauses_sent += count;
  for (const auto count : pfc->indications) dcb.pauses_received += count;
}

void read_applications(std::span<const std::byte> payload, Dcb& dcb) {
  each_attribute(payload, [&dcb](int type, std::span<const std::byte> entry) {
    const auto app = at_front<dcb_app>(entry);
    if (type == DCB_ATTR_IEEE_APP && app && app->selector == IEEE_8021QAZ_APP_SEL_DSCP)
      dcb.priorities[app->protocol].insert(app->priority);
  });
}

std::string reason(int error, const std::string& interface) {
  if (error == EOPNOTSUPP) return "the driver of " + interface + " has no DCB settings";
  return std::string("the kernel does not tell of ") + interface + ": " + std::strerror(error);
}

class Socket {
 public:
  Socket() : fd_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// "3:on" to (3, "on"); key -1 where it is none.
std::pair<int, std::string> key_value(const std::string& word) {
  const std::size_t colon = word.find(':');
  int key = -1;
  if (colon != std::string::npos) std::from_chars(word.data(), word.data() + colon, key);
  return {key, colon == std::string::npos ? "" : word.substr(colon + 1)};
}

std::uint64_t number_of(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::vector<std::byte> dcb_request(const std::string& interface, std::uint32_t sequence) {
  const std::size_t name_bytes = interface.size() + 1;
  const std::size_t total = NLMSG_LENGTH(sizeof(dcbmsg)) + NLA_HDRLEN + NLA_ALIGN(name_bytes);
  std::vector<std::byte> request(total);
  nlmsghdr head{};
  head.nlmsg_len = static_cast<std::uint32_t>(total);
  head.nlmsg_type = RTM_GETDCB;
  head.nlmsg_flags = NLM_F_REQUEST;
  head.nlmsg_seq = sequence;
  dcbmsg message{};
  message.dcb_family = AF_UNSPEC;
  message.cmd = DCB_CMD_IEEE_GET;
  nlattr attribute{};
  attribute.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + name_bytes);
  attribute.nla_type = DCB_ATTR_IFNAME;
  std::byte* to = request.data();
  std::memcpy(to, &head, sizeof(head));
  std::memcpy(to + NLMSG_HDRLEN, &message, sizeof(message));
  std::memcpy(to + NLMSG_LENGTH(sizeof(message)), &attribute, sizeof(attribute));
  std::memcpy(to + NLMSG_LENGTH(sizeof(message)) + NLA_HDRLEN, interface.c_str(), name_bytes);
  return request;
}

DcbAnswer parse_dcb(std::span<const std::byte> answer, const std::string& interface) {
  const auto head = at_front<nlmsghdr>(answer);
  if (!head || head->nlmsg_len > answer.size() || head->nlmsg_len < NLMSG_HDRLEN)
    return {std::nullopt, "the kernel's answer about " + interface + " is cut"};
  const auto body = answer.subspan(NLMSG_HDRLEN, head->nlmsg_len - NLMSG_HDRLEN);
  if (head->nlmsg_type == NLMSG_ERROR) {
    const auto error = at_front<std::int32_t>(body);  // the first member of nlmsgerr
    return {std::nullopt, reason(error ? -*error : EPROTO, interface)};
  }
  if (body.size() < sizeof(dcbmsg)) return {std::nullopt, reason(EPROTO, interface)};
  Dcb dcb;
  bool told = false;
  each_attribute(body.subspan(sizeof(dcbmsg)), [&](int type, std::span<const std::byte> payload) {
    if (type != DCB_ATTR_IEEE) return;
    each_attribute(payload, [&](int inner, std::span<const std::byte> value) {
      told = told || inner == DCB_ATTR_IEEE_PFC;
      if (inner == DCB_ATTR_IEEE_PFC) read_pfc(value, dcb);
      if (inner == DCB_ATTR_IEEE_APP_TABLE) read_applications(value, dcb);
    });
  });
  if (!told) return {std::nullopt, "the driver of " + interface + " does not tell of PFC"};
  return {dcb, {}};
}

DcbAnswer ask_dcb(const std::string& interface) {
  constexpr std::uint32_t kSequence = 1;
  const Socket socket;
  const timeval patience{1, 0};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const std::vector<std::byte> request = dcb_request(interface, kSequence);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket.fd(), request.data(), request.size(), 0,
               reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel)) < 0)
    return {std::nullopt, reason(errno, interface)};
  std::vector<std::byte> answer(kAnswerBytesMax);
  const ssize_t got = ::recv(socket.fd(), answer.data(), answer.size(), 0);
  if (got < 0) return {std::nullopt, reason(errno, interface)};
  return parse_dcb(std::span(answer).first(static_cast<std::size_t>(got)), interface);
}

Dcb parse_dcb_text(const std::string& text) {
  Dcb dcb;
  std::istringstream words(text);
  std::string topic;  // the last word without a colon
  for (std::string word; words >> word;) {
    const auto [key, value] = key_value(word);
    if (key < 0) {
      topic = word;
    } else if (topic == "prio-pfc" && key < kPriorities) {
      dcb.paused.set(static_cast<std::size_t>(key), value == "on");
    } else if (topic == "requests") {
      dcb.pauses_sent += number_of(value);
    } else if (topic == "indications") {
      dcb.pauses_received += number_of(value);
    } else if (topic == "dscp-prio") {
      dcb.priorities[key].insert(static_cast<int>(number_of(value)));
    }
  }
  return dcb;
}

}  // namespace tickpath::cli::doctor
