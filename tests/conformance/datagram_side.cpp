#include "tests/conformance/datagram_side.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

#include "tests/conformance/endpoint.hpp"

namespace tickpath::rdma::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSendId = 1'000'000;

Clock::time_point after_ms(int milliseconds) {
  return Clock::now() + std::chrono::milliseconds(scaled_ms(milliseconds));
}

std::byte pattern(std::uint64_t number, std::size_t at) {
  return static_cast<std::byte>(number * 131 + at * 7);
}

void write_datagram(std::byte* to, std::uint64_t number, std::uint32_t length) {
  for (std::uint32_t i = 0; i < length; ++i) to[i] = pattern(number, i);
  std::memcpy(to, &number, std::min<std::size_t>(sizeof(number), length));
}

bool intact(const std::byte* datagram, std::uint64_t number, std::uint32_t length) {
  for (std::uint32_t i = sizeof(number); i < length; ++i) {
    if (datagram[i] != pattern(number, i)) return false;
  }
  return length >= sizeof(number);
}

}  // namespace

DatagramSide::DatagramSide(Device& device, const DatagramSideOptions& options)
    : device_(device), options_(options) {
  if (options_.receive_bytes == 0)
    options_.receive_bytes = kGrhBytes + device.info().datagram_bytes_max;
  stride_ = (std::max(options_.receive_bytes, device.info().datagram_bytes_max) + 63) / 64 * 64;
  memory_ = device_.allocate((options_.receives + 1) * std::size_t{stride_}, kLocalWrite, "test");
  if (options_.channel) channel_ = device_.create_channel();
  queue_ = device_.create_queue(4096, channel_.get());
  queue_pair_ = device_.create_datagram_queue_pair(*queue_, options_.queue_pair);
  for (std::uint32_t i = 0; i < options_.receives; ++i) {
    if (post_receive(i) != PostStatus::kOk) throw Error("a first receive was refused");
  }
}

void DatagramSide::join(const std::string& group, MulticastRole role) {
  membership_ = queue_pair_->join(group, role);
  wait_for(*membership_, std::chrono::milliseconds(scaled_ms(5000)));
  aim_ = membership_->group();
}

void DatagramSide::reach(const DatagramAddress& address) {
  handle_ = queue_pair_->create_address_handle(address);
  aim_ = handle_.get();
}

DatagramRequest DatagramSide::request(std::uint64_t number, std::uint32_t length) {
  write_datagram(memory_->data(), number, std::min(length, stride_));
  DatagramRequest request = datagram_to(*aim_);
  request.wr_id = kSendId + number;
  request.local_address = memory_->data();
  request.length_bytes = length;
  request.lkey = memory_->lkey();
  return request;
}

PostStatus DatagramSide::post_receive(std::uint64_t index) {
  return queue_pair_->post_receive({.wr_id = index,
                                    .local_address = memory_->data() + (1 + index) * stride_,
                                    .length_bytes = options_.receive_bytes,
                                    .lkey = memory_->lkey()});
}

void DatagramSide::take(const Completion& completion, Heard& heard) {
  if (completion.status != CompletionStatus::kSuccess) {
    if (failure_.empty()) failure_ = to_string(completion.status);  // the rest is flushed
    return;
  }
  if (completion.wr_id >= kSendId) {
    ++sends_done_;
    return;
  }
  last_ = completion;
  const std::byte* const datagram = receive_buffer(completion.wr_id) + kGrhBytes;
  const std::uint32_t length = completion.byte_length - kGrhBytes;
  std::uint64_t number = 0;
  std::memcpy(&number, datagram, std::min<std::size_t>(sizeof(number), length));
  if (!intact(datagram, number, length)) ++heard.damaged;
  if (heard.count == 0) {
    heard.first = number;
  } else if (number <= heard.last) {
    ++heard.disordered;
  }
  heard.last = number;
  ++heard.count;
  if (post_receive(completion.wr_id) != PostStatus::kOk) failure_ = "a receive was refused";
}

void DatagramSide::poll_some(Heard& heard) {
  std::array<Completion, 16> completions;
  const std::size_t got = queue_->poll(completions);
  for (std::size_t i = 0; i < got; ++i) take(completions[i], heard);
}

std::string DatagramSide::send(const DatagramRequest& request) {
  const std::uint64_t before = sends_done_;
  if (const PostStatus status = queue_pair_->post_send(request); status != PostStatus::kOk)
    return std::string(to_string(status));
  for (const auto deadline = after_ms(5000); sends_done_ == before && failure_.empty();) {
    if (Clock::now() > deadline) return "a send does not complete";
    poll_some(early_);
  }
  return failure_;
}

std::string DatagramSide::send(std::uint64_t first, std::uint64_t count, std::uint32_t length) {
  for (std::uint64_t number = first; number < first + count; ++number) {
    if (std::string error = send(request(number, length)); !error.empty()) return error;
  }
  return {};
}

Heard DatagramSide::receive(std::uint64_t count, int timeout_ms) {
  Heard heard = early_;
  early_ = {};
  for (const auto deadline = after_ms(timeout_ms);
       heard.count < count && failure_.empty() && Clock::now() < deadline;)
    poll_some(heard);
  return heard;
}

std::string to_word(const DatagramAddress& address) {
  std::string word;
  std::array<char, 3> digits{};
  for (const std::byte each : address.gid) {
    std::snprintf(digits.data(), digits.size(), "%02x", std::to_integer<unsigned>(each));
    word += digits.data();
  }
  return word + ":" + std::to_string(address.qp_number) + ":" + std::to_string(address.q_key) +
         ":" + std::to_string(address.lid);
}

DatagramAddress address_of_word(const std::string& word) {
  DatagramAddress address;
  for (std::size_t i = 0; i < address.gid.size(); ++i)
    address.gid[i] = static_cast<std::byte>(std::stoul(word.substr(2 * i, 2), nullptr, 16));
  std::istringstream rest(word.substr(2 * address.gid.size()));
  char colon = 0;
  rest >> colon >> address.qp_number >> colon >> address.q_key >> colon >> address.lid;
  return address;
}

MulticastRole role_of_word(const std::string& word) {
  if (word == "both") return MulticastRole::kBoth;
  return word == "sender" ? MulticastRole::kSender : MulticastRole::kReceiver;
}

std::string to_words(const Heard& heard) {
  std::ostringstream words;
  words << heard.count << ' ' << heard.first << ' ' << heard.last << ' ' << heard.damaged << ' '
        << heard.disordered;
  return words.str();
}

Heard heard_of_words(const std::string& words) {
  Heard heard;
  std::istringstream(words) >> heard.count >> heard.first >> heard.last >> heard.damaged >>
      heard.disordered;
  return heard;
}

std::string DatagramPeer::open(std::istringstream& words) {
  DatagramSideOptions options;
  const std::map<std::string, std::uint32_t*> numbers = {
      {"q_key", &options.queue_pair.q_key},
      {"ring", &options.queue_pair.ring_datagrams},
      {"receives", &options.receives},
      {"receive_bytes", &options.receive_bytes}};
  read_options(words, [&](const std::string& key, std::uint32_t value) {
    if (key == "channel") {
      options.channel = value != 0;
    } else {
      *numbers.at(key) = value;
    }
  });
  side_.reset();
  side_ = std::make_unique<DatagramSide>(device_, options);
  return "ok " + to_word(side_->queue_pair().address());
}

std::string DatagramPeer::flood(std::istringstream& words) {
  std::uint32_t length = 0;
  int milliseconds = 0;
  words >> length >> milliseconds;
  std::uint64_t sent = 0;
  for (const auto deadline = after_ms(milliseconds); Clock::now() < deadline; ++sent) {
    if (std::string error = side_->send(side_->request(sent, length)); !error.empty())
      return "error " + error;
  }
  return "ok " + std::to_string(sent);
}

std::string DatagramPeer::park(std::istringstream& words) {
  std::uint64_t count = 0;
  int milliseconds = 0;
  words >> count >> milliseconds;
  Heard all;
  while (all.count < count) {
    Heard heard = side_->receive(0, 0);
    if (heard.count == 0) {
      // Arm, look once more, sleep: as a parked datapath does.
      side_->queue().arm(false);
      heard = side_->receive(1, 0);
    }
    if (heard.count == 0 &&
        !wait_readable(side_->channel().file_descriptor(), scaled_ms(milliseconds)))
      return "error no wake-up after " + to_words(all);
    if (heard.count == 0) side_->channel().acknowledge();
    heard = heard.count != 0 ? heard : side_->receive(16, 1);
    if (all.count == 0) all.first = heard.first;
    if (heard.count != 0) all.last = heard.last;
    all.count += heard.count;
    all.damaged += heard.damaged;
  }
  return "ok " + to_words(all);
}

std::string DatagramPeer::run(std::istringstream& words) {
  std::string name, group, role;
  words >> name;
  if (name == "open") return open(words);
  if (side_ == nullptr) return "error no datagram queue pair is open";
  if (name == "flood") return flood(words);
  if (name == "park") return park(words);
  if (name == "leave") {
    side_->leave();
    return "ok";
  }
  if (name == "senders") return "ok " + std::to_string(side_->membership().senders());
  if (name == "join") {
    words >> group >> role;
    side_->join(group, role_of_word(role));
    return "ok";
  }
  if (name == "reach") {
    words >> group;
    side_->reach(address_of_word(group));
    return "ok";
  }
  std::uint64_t first = 0, count = 0;
  std::uint32_t length = 0;
  int milliseconds = 0;
  if (name == "send") {
    words >> first >> count >> length;
    const std::string error = side_->send(first, count, length);
    return error.empty() ? "ok" : "error " + error;
  }
  if (name == "receive") {
    words >> count >> milliseconds;
    return "ok " + to_words(side_->receive(count, milliseconds));
  }
  return "error unknown command of datagrams " + name;
}

}  // namespace tickpath::rdma::conformance
