// The control side of the book home in mdh: keeps one, writes into one, or neither.
#pragma once

#include <memory>
#include <string>

#include "common/control/program.hpp"
#include "common/stores/home/owner.hpp"
#include "common/stores/home/writer.hpp"
#include "common/wire/hello.hpp"
#include "mdh/config.hpp"

namespace tickpath::mdh {

// Control thread, but for writer(), which the datapath thread turns.
class BookHome {
 public:
  // Throws Error, rdma::SetupError: memory for it.
  BookHome(const MdhConfig& config, control::Runtime& runtime, rdma::CompletionChannel* channel);

  // nullptr: books are written into none.
  home::HomeWriter* writer() noexcept { return writer_.get(); }
  void tick();
  // Answers a peer that was admitted for kHome or kHomeWrite. Not empty: why it was refused.
  std::string accept(rdma::ConnectionRequest& request, const wire::Hello& hello,
                     const wire::Hello& answer, link::Accepted accepted);
  // Why it does not write; an mdh that writes into the home of another does not wait for that one.
  std::string not_ready_reason() const;
  void register_counters(control::Counters& out) const;
  void describe(control::Json& status) const;

 private:
  const MdhConfig& config_;
  std::unique_ptr<home::HomeOwner> owner_;
  std::unique_ptr<home::HomeWriter> writer_;
};

}  // namespace tickpath::mdh
