// The peer process of the conformance tests: reads one command a line, answers one line each, "ok
// ..." or "error ...". It does nothing on its own, so that every test says what both sides do.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <sstream>

#include <sys/prctl.h>
#include <unistd.h>

#include "common/rdma/ordering.hpp"
#include "tests/conformance/datagram_side.hpp"
#include "tests/conformance/endpoint.hpp"

namespace tickpath::rdma::conformance {
namespace {

// Places of 256 bytes before the receives; no more answers are under way at once.
constexpr std::uint64_t kAnswers = 64;
static_assert(kAnswers * kReceiveBytes <= kReceiveOffset);

// "key=value" words to options; the keys are those of EndpointOptions.
EndpointOptions parse_options(std::istringstream& words) {
  EndpointOptions options;
  const std::map<std::string, std::uint32_t*> numbers = {
      {"send_depth", &options.queue_pair.send_depth},
      {"receive_depth", &options.queue_pair.receive_depth},
      {"inline_bytes", &options.queue_pair.inline_bytes},
      {"min_rnr_timer_us", &options.queue_pair.min_rnr_timer_us},
      {"completion_depth", &options.completion_depth},
      {"initial_receives", &options.initial_receives}};
  read_options(words, [&](const std::string& key, std::uint32_t value) {
    if (key == "channel") {
      options.channel = value != 0;
    } else if (key == "rnr_retry") {
      options.queue_pair.rnr_retry = static_cast<std::uint8_t>(value);
    } else {
      *numbers.at(key) = value;
    }
  });
  return options;
}

class Peer {
 public:
  explicit Peer(const std::string& provider) : endpoint_(provider) {}

  std::string run(const std::string& line) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "datagram") return run_datagram(words);
    const auto found = commands_.find(name);
    if (found == commands_.end()) return "error unknown command " + name;
    try {
      return (this->*found->second)(words);
    } catch (const std::exception& error) {
      return std::string("error ") + error.what();
    }
  }

 private:
  using Command = std::string (Peer::*)(std::istringstream&);

  std::string run_datagram(std::istringstream& words) {
    try {
      return datagrams_.run(words);
    } catch (const std::exception& error) {
      return std::string("error ") + error.what();
    }
  }

  std::string listen(std::istringstream& words) {
    std::string address;
    words >> address;
    endpoint_.listen(address);
    return "ok";
  }

  std::string accept(std::istringstream& words) {
    endpoint_.accept(parse_options(words), "welcome");
    return "ok " + endpoint_.last_hello();
  }

  std::string reject(std::istringstream& words) {
    const auto request = endpoint_.next_request(scaled_ms(10'000));
    if (request == nullptr) return "error nobody connected";
    std::string text;
    std::getline(words >> std::ws, text);
    request->reject(text);
    return "ok " + request->peer();
  }

  std::string connect(std::istringstream& words) {
    std::string address;
    words >> address;
    endpoint_.connect(address, parse_options(words), "from the peer");
    return "ok";
  }

  std::string receive(std::istringstream& words) {
    std::uint64_t wr_id = 0;
    std::size_t offset = 0;
    std::uint32_t length = 0;
    words >> wr_id >> offset >> length;
    return "ok " + std::string(to_string(endpoint_.post_receive(wr_id, offset, length)));
  }

  // send WR_ID OFFSET LENGTH FLAGS
  std::string send(std::istringstream& words) {
    std::uint64_t wr_id = 0;
    std::size_t offset = 0;
    std::uint32_t length = 0, flags = 0;
    words >> wr_id >> offset >> length >> flags;
    const WorkRequest request = endpoint_.request(Opcode::kSend, wr_id, offset, length, kFull, 0,
                                                  static_cast<std::uint8_t>(flags));
    return "ok " + std::string(to_string(endpoint_.queue_pair().post_send(request)));
  }

  // write WR_ID OFFSET LENGTH REMOTE_OFFSET
  std::string write(std::istringstream& words) {
    std::uint64_t wr_id = 0, remote_offset = 0;
    std::size_t offset = 0;
    std::uint32_t length = 0;
    words >> wr_id >> offset >> length >> remote_offset;
    const WorkRequest request =
        endpoint_.request(Opcode::kWrite, wr_id, offset, length, kFull, remote_offset, kSignaled);
    return "ok " + std::string(to_string(endpoint_.queue_pair().post_send(request)));
  }

  // poll COUNT TIMEOUT_MS -> "ok n wr_id:status:length:imm ..."
  std::string poll(std::istringstream& words) {
    std::size_t count = 0;
    int timeout_ms = 0;
    words >> count >> timeout_ms;
    std::ostringstream answer;
    const auto completions = endpoint_.poll(count, timeout_ms);
    answer << "ok " << completions.size();
    for (const Completion& each : completions) {
      // Lengths of failed completions mean nothing (ibv_poll_cq(3)).
      const bool good = each.status == CompletionStatus::kSuccess;
      answer << ' ' << each.wr_id << ':' << static_cast<int>(each.status) << ':'
             << (good ? each.byte_length : 0) << ':' << (good ? each.imm_data : 0);
    }
    return answer.str();
  }

  std::byte* region(const std::string& name) {
    if (name == "write-only") return endpoint_.write_only().data();
    if (name == "read-only") return endpoint_.read_only().data();
    return endpoint_.memory().data();
  }

  // sum REGION OFFSET LENGTH -> checksum()
  std::string sum(std::istringstream& words) {
    std::string name;
    std::size_t offset = 0, length = 0;
    words >> name >> offset >> length;
    return "ok " + std::to_string(checksum(region(name) + offset, length));
  }

  std::string fill(std::istringstream& words) {
    std::string name;
    std::size_t offset = 0, length = 0;
    unsigned value = 0;
    words >> name >> offset >> length >> value;
    std::memset(region(name) + offset, static_cast<int>(value), length);
    return "ok";
  }

  std::string word(std::istringstream& words) {
    std::size_t offset = 0;
    words >> offset;
    std::uint64_t value = 0;
    std::memcpy(&value, endpoint_.memory().data() + offset, sizeof(value));
    return "ok " + std::to_string(value);
  }

  std::string state(std::istringstream&) {
    const bool error = endpoint_.queue_pair().state() == QueuePairState::kError;
    return error ? "ok error " + endpoint_.queue_pair().error_text() : "ok ready";
  }

  std::string use(std::istringstream& words) {
    std::size_t index = 0;
    words >> index;
    endpoint_.use(index);
    return "ok";
  }

  std::string revoke(std::istringstream& words) {
    std::string name;
    words >> name;
    const MemoryRegion& region = name == "write-only" ? endpoint_.write_only() : endpoint_.memory();
    return "ok " + std::to_string(endpoint_.queue_pair().revoke(region));
  }

  std::string disconnect(std::istringstream&) {
    endpoint_.queue_pair().disconnect();
    return "ok";
  }

  std::string destroy(std::istringstream&) {
    endpoint_.queue_pairs().clear();
    endpoint_.destroy_memory();
    return "ok";
  }

  // add OFFSET COUNT: so many FETCH_ADDs of 1 on the peer's word
  std::string add(std::istringstream& words) {
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
    words >> offset >> count;
    WorkRequest request = endpoint_.request(Opcode::kFetchAdd, 1, 0, 8, kFull, offset, kSignaled);
    request.compare_add = 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (endpoint_.queue_pair().post_send(request) != PostStatus::kOk) return "error post";
      const auto done = endpoint_.poll(1, 5000);
      if (done.size() != 1 || done[0].status != CompletionStatus::kSuccess) return "error add";
    }
    return "ok";
  }

  // locked_add LOCK VALUE COUNT: a lock by COMPARE_SWAP around READ and WRITE of a plain word
  std::string locked_add(std::istringstream& words) {
    std::uint64_t lock = 0, value = 0, count = 0;
    words >> lock >> value >> count;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t seen = 1;
      while (seen != 0) seen = fetch(Opcode::kCompareSwap, lock, 0, 1);
      const std::uint64_t next = fetch(Opcode::kRead, value, 0, 0) + 1;
      std::memcpy(endpoint_.memory().data(), &next, 8);
      fetch(Opcode::kWrite, value, 0, 0);
      seen = fetch(Opcode::kCompareSwap, lock, 1, 0);
      if (seen != 1) return "error the lock was taken by two";
    }
    return "ok";
  }

  // One 8-byte request on the peer's main region; the word at local offset 0 afterwards.
  std::uint64_t fetch(Opcode opcode, std::uint64_t offset, std::uint64_t compare,
                      std::uint64_t swap) {
    WorkRequest request = endpoint_.request(opcode, 1, 0, 8, kFull, offset, kSignaled);
    request.compare_add = compare;
    request.swap = swap;
    if (endpoint_.queue_pair().post_send(request) != PostStatus::kOk) throw Error("post");
    const auto done = endpoint_.poll(1, 5000);
    if (done.size() != 1 || done[0].status != CompletionStatus::kSuccess) throw Error("fetch");
    std::uint64_t value = 0;
    std::memcpy(&value, endpoint_.memory().data(), 8);
    return value;
  }

  // ring SLOTS COUNT BYTES: reads a ring of such slots at offset 0 as an overrun reader would ->
  // "ok intact overrun torn". Each word of a slot is the sequence, the last one placed last.
  std::string ring(std::istringstream& words) {
    std::uint64_t slots = 0, count = 0, bytes = 0;
    words >> slots >> count >> bytes;
    const std::uint64_t last = bytes / 8 - 1;
    const auto* ring = reinterpret_cast<const std::uint64_t*>(endpoint_.memory().data());
    const auto slot = [&](std::uint64_t sequence) {
      return ring + (sequence % slots) * (last + 1);
    };
    std::vector<std::uint64_t> copy(last);
    std::uint64_t intact = 0, overrun = 0, torn = 0;
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(scaled_ms(30'000));
    for (std::uint64_t expected = 1; expected <= count;) {
      const std::uint64_t sequence = load_placed(slot(expected)[last]);
      if (sequence < expected) {
        if (std::chrono::steady_clock::now() > deadline) return "error stuck";
        continue;
      }
      std::memcpy(copy.data(), slot(expected), last * 8);
      recheck_fence();
      // The writer of the next pass places this slot's sequence last, but the slot before it
      // earlier still: while that one is of this pass, nothing has touched the copy.
      const bool whole_lap = load_placed(slot(expected + slots - 1)[last]) < expected;
      if (sequence == expected && whole_lap) {
        const bool whole = std::all_of(copy.begin(), copy.end(),
                                       [&](std::uint64_t each) { return each == sequence; });
        (whole ? intact : torn) += 1;
      } else {
        overrun += 1;
      }
      expected += 1;
    }
    return "ok " + std::to_string(intact) + " " + std::to_string(overrun) + " " +
           std::to_string(torn);
  }

  // echo COUNT PARK: sends every message back; parks on the channel between them if asked. Answers
  // go out of memory of their own: a receive is posted again at once, while its answer may still
  // have to be sent once more.
  std::string echo(std::istringstream& words) {
    std::uint64_t count = 0;
    bool park = false;
    words >> count >> park;
    std::uint64_t answered = 0, sent = 0;
    for (std::deque<Completion> waiting; answered < count;) {
      Completion completion;
      std::size_t got = endpoint_.queue().poll({&completion, 1});
      if (got == 0 && park) {
        // Arm, look once more, sleep: as a parked datapath does.
        endpoint_.queue().arm(false);
        got = endpoint_.queue().poll({&completion, 1});
        const int fd = endpoint_.channel().file_descriptor();
        if (got == 0 && !wait_readable(fd, scaled_ms(5000))) return "error no wake-up";
        if (got == 0) endpoint_.channel().acknowledge();
      }
      if (got == 0) continue;
      if (completion.status != CompletionStatus::kSuccess) return "error completion";
      if (completion.wr_id < kFirstReceiveId) {
        ++sent;
      } else {
        waiting.push_back(completion);
      }
      for (; !waiting.empty() && answered - sent < kAnswers; waiting.pop_front(), ++answered) {
        const std::string error = send_back(waiting.front(), answered % kAnswers);
        if (!error.empty()) return error;
      }
    }
    return "ok";
  }

  // Out of this place of the answers; the message's receive is posted again.
  std::string send_back(const Completion& message, std::uint64_t place) {
    std::byte* const memory = endpoint_.memory().data();
    const std::size_t from = kReceiveOffset + (message.wr_id - kFirstReceiveId) * kReceiveBytes;
    std::memcpy(memory + place * kReceiveBytes, memory + from, message.byte_length);
    const WorkRequest answer =
        endpoint_.request(Opcode::kSend, 1, place * kReceiveBytes, message.byte_length, kFull, 0,
                          kSignaled | kSolicited);
    if (endpoint_.queue_pair().post_send(answer) != PostStatus::kOk) return "error send";
    if (endpoint_.post_receive(message.wr_id, from, kReceiveBytes) != PostStatus::kOk) {
      return "error receive";
    }
    return "";
  }

  // write_until_error: WRITEs as fast as it can -> the state in which it ended
  std::string write_until_error(std::istringstream&) {
    std::uint64_t posted = 0;
    for (;;) {
      const WorkRequest request =
          endpoint_.request(Opcode::kWrite, posted, 0, 64, kFull, (posted % 1000) * 64, kSignaled);
      const PostStatus status = endpoint_.queue_pair().post_send(request);
      if (status == PostStatus::kNotReady) break;
      if (status == PostStatus::kOk) ++posted;
      endpoint_.poll(16, 0);
    }
    return "ok " + endpoint_.queue_pair().error_text();
  }

  const std::map<std::string, Command> commands_ = {
      {"listen", &Peer::listen},
      {"accept", &Peer::accept},
      {"reject", &Peer::reject},
      {"connect", &Peer::connect},
      {"receive", &Peer::receive},
      {"send", &Peer::send},
      {"write", &Peer::write},
      {"poll", &Peer::poll},
      {"sum", &Peer::sum},
      {"fill", &Peer::fill},
      {"word", &Peer::word},
      {"state", &Peer::state},
      {"use", &Peer::use},
      {"revoke", &Peer::revoke},
      {"disconnect", &Peer::disconnect},
      {"destroy", &Peer::destroy},
      {"add", &Peer::add},
      {"locked_add", &Peer::locked_add},
      {"ring", &Peer::ring},
      {"echo", &Peer::echo},
      {"write_until_error", &Peer::write_until_error}};
  Endpoint endpoint_;
  DatagramPeer datagrams_{endpoint_.device()};
};

}  // namespace
}  // namespace tickpath::rdma::conformance

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 2) return 2;
  try {
    tickpath::rdma::conformance::Peer peer(argv[1]);
    std::cout << "ok" << std::endl;
    for (std::string line; std::getline(std::cin, line) && line != "exit";) {
      std::cout << peer.run(line) << std::endl;
    }
  } catch (const std::exception& error) {
    std::cout << "error " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
