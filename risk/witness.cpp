#include "risk/witness.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include <sys/random.h>

#include "common/base/error.hpp"
#include "common/base/replace_file.hpp"
#include "common/log/log.hpp"
#include "common/rdma/ordering.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::risk {
namespace {

constexpr rdma::AccessFlags kPairsRights = rdma::kRemoteRead | rdma::kRemoteAtomic;

// Two lives of a witness must not look alike, on whatever host and at whatever time they begin.
std::uint64_t draw_incarnation() {
  std::uint64_t drawn = 0;
  while (drawn == 0)
    if (::getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
      throw SystemError("getrandom", errno);
  return drawn;
}

// Host order: this program writes and reads it. Files of former versions end behind the word.
struct SavedWord {
  static constexpr char kMagic[8] = {'t', 'k', 'w', 'o', 'r', 'd', '1', 0};
  char magic[8]{};
  std::uint64_t word = 0;
  std::uint64_t pair = 0;  // OegConfig::pair_id(); 0: none has asked
};
constexpr std::streamsize kFormerBytes = 16;

}  // namespace

// Nothing in it: there is no such file.
Witness::Saved Witness::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  SavedWord saved{};
  file.read(reinterpret_cast<char*>(&saved), sizeof(saved));
  if (file.gcount() < kFormerBytes ||
      std::memcmp(saved.magic, SavedWord::kMagic, sizeof(saved.magic)) != 0)
    throw Error(path +
                " is not the word of a witness. Move it away; the oeg that leads writes it again");
  return {saved.word, saved.pair};
}

Witness::Witness(rdma::Device& device, const std::string& endpoint, std::string name,
                 std::string file)
    : name_(std::move(name)),
      file_(std::move(file)),
      saved_(read(file_)),
      pair_(saved_.pair),
      region_(device.allocate(sizeof(wire::WitnessBlock), rdma::kLocalWrite | kPairsRights,
                              name_ + ".witness")),
      block_(new (region_->data()) wire::WitnessBlock{}),
      listener_(device.listen(endpoint)),
      peers_(device) {
  block_->incarnation = draw_incarnation();
  block_->word = saved_.word;
}

Witness::~Witness() { save(); }

// On the disk when it returns, or tried again at the next tick.
void Witness::save() noexcept {
  const Saved now{leadership().word(), pair_};
  if (now == saved_) return;
  SavedWord written{.word = now.word, .pair = now.pair};
  std::memcpy(written.magic, SavedWord::kMagic, sizeof(written.magic));
  try {
    replace_file(file_, {{reinterpret_cast<const char*>(&written), sizeof(written)}});
    saved_ = now;
    save_failed_ = false;
  } catch (const std::exception& error) {
    if (!std::exchange(save_failed_, true))
      log::error("the word of who leads is not saved, and is lost if risk ends: {}", error.what());
  }
}

void Witness::serve() {
  admission_.serve(*listener_, [this](rdma::ConnectionRequest& request) { accept(request); });
}

void Witness::accept(rdma::ConnectionRequest& request) {
  if (closing_) return request.reject("risk is stopping");
  const std::optional<wire::Hello> hello = admission_.admit(request);
  if (!hello) return;  // its table of rights lets pass oeg alone
  const std::uint64_t pair = hello->parameters[0];
  if (pair_ != 0 && pair != pair_) return refuse_other_pair(request, wire::name_of(*hello));
  pair_ = pair;
  static_assert(wire::WitnessGrants::kBlock == 0);
  const rdma::Grant grant{region_.get(), kPairsRights};
  const wire::Hello answer = wire::make_hello(wire::Role::kRisk, wire::Service::kWitness, name_);
  peers_.start_accept(request, link::bytes_of(answer), {&grant, 1}, 0,
                      [this, peer = request.peer()](std::uint32_t, const rdma::SetupError* error) {
                        if (error != nullptr) return admission_.failed(peer, error->what());
                        // One that looks for the life that decides comes again and again.
                        if (budget_.take(LogBudget::Clock::now())) log::info("witness of {}", peer);
                      });
}

// Else two pairs would change one word, and each take the other's leader for its own.
void Witness::refuse_other_pair(rdma::ConnectionRequest& request, const std::string& who) {
  const std::string why =
      who + " is of another pair than the one whose word is kept here (" + file_ +
      "): each pair has a witness of its own. If it is to be this pair's now, stop "
      "risk and move that file away";
  if (budget_.take(LogBudget::Clock::now())) log::warning("refused {}: {}", request.peer(), why);
  request.reject(why);
}

wire::Leadership Witness::leadership() const noexcept {
  return wire::Leadership::of_word(rdma::load_placed(block_->word));
}

void Witness::register_counters(control::Counters& counters) const {
  admission_.register_counters(counters, "connections");
  control::Admission::register_bad_peers(counters, "connections", listener_);
  counters.add("witness", "peers", [this] { return std::uint64_t{peers_.size()}; });
}

}  // namespace tickpath::risk
