// `tickpath pair found`: a person lets this oeg lead where there is nobody to join. The question
// goes from the admin socket to the thread that looks for the pair, and the answer back.
#pragma once

#include <cstdint>
#include <future>
#include <mutex>
#include <optional>
#include <string>

#include "common/wire/leadership.hpp"

namespace tickpath::oeg {

// What this oeg can find out of who leads.
struct KnownOfPair {
  std::uint8_t place = 0;   // of this oeg
  std::string peer{};       // how the other one answers; empty: it does not
  bool witness = false;     // one answers, ...
  wire::Leadership word{};  // ... and has this newest word
  std::string silent{};     // the endpoint of one that does not answer
};

// Empty: this oeg may lead. Else why it may not, and what to do. over: the epoch in which, as the
// person knows, the other one led; 0: none is given.
std::string why_not_found(const KnownOfPair& known, std::uint32_t over);

class Founding {
 public:
  // ---- thread of the admin socket

  // Waits. The epoch in which this oeg leads. Throws Error: why it does not.
  std::uint32_t ask(std::uint32_t over);

  // ---- the thread that looks for the pair

  // The epoch that the person names, if one has asked; then grant() or refuse() follows.
  std::optional<std::uint32_t> asked();
  void grant(std::uint32_t epoch);
  void refuse(const std::string& why);
  // The thread looks no more: whoever asks from now on is refused.
  void close();

 private:
  struct Asked {
    std::uint32_t over;
    std::promise<std::uint32_t> answer;
  };

  std::mutex mutex_;
  std::optional<Asked> asked_;
  bool closed_ = false;
};

}  // namespace tickpath::oeg
