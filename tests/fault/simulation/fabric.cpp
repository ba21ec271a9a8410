#include "tests/fault/simulation/fabric.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

namespace tickpath::simulation {
namespace {

// What a poll takes: a caller that waits in a loop gets on.
constexpr std::uint64_t kPollNs = 1'000;
constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::align_val_t kPage{64};

// Memory of regions is kept for the next ones of the same size: a run has hundreds.
std::map<std::size_t, std::vector<std::byte*>>& spare() {
  static std::map<std::size_t, std::vector<std::byte*>> kept;
  return kept;
}

std::byte* zeroed(std::size_t size_bytes) {
  std::vector<std::byte*>& kept = spare()[size_bytes];
  std::byte* memory = nullptr;
  if (kept.empty()) {
    memory = static_cast<std::byte*>(::operator new(size_bytes, kPage));
  } else {
    memory = kept.back();
    kept.pop_back();
  }
  std::memset(memory, 0, size_bytes);
  return memory;
}

std::vector<rdma::RemoteRegion> as_granted(std::span<const rdma::Grant> grants) {
  std::vector<rdma::RemoteRegion> regions;
  for (const rdma::Grant& grant : grants)
    regions.push_back({reinterpret_cast<std::uint64_t>(grant.region->data()),
                       grant.region->size_bytes(), grant.region->lkey(), grant.access});
  return regions;
}

}  // namespace

// -------------------------------------------------------------------------------------- regions

SimulatedRegion::SimulatedRegion(Fabric& fabric, std::size_t size_bytes, rdma::AccessFlags access)
    : fabric_(fabric) {
  data_ = zeroed(size_bytes);
  size_bytes_ = size_bytes;
  access_ = access;
  lkey_ = ++fabric.keys_;
  fabric.regions_[lkey_] = this;
}

SimulatedRegion::~SimulatedRegion() {
  fabric_.regions_.erase(lkey_);
  spare()[size_bytes_].push_back(data_);
}

// ---------------------------------------------------------------------------------- queue pairs

std::size_t SimulatedQueue::poll(std::span<rdma::Completion> out) noexcept {
  return pair == nullptr ? 0 : pair->poll(out);
}

SimulatedPair::SimulatedPair(Fabric& fabric, SimulatedQueue& queue, int owner,
                             std::vector<rdma::RemoteRegion> granted)
    : fabric_(fabric),
      queue_(queue),
      owner_(owner),
      number_(++fabric.numbers_),
      granted_(std::move(granted)) {
  queue_.pair = this;
  fabric_.pairs_.push_back(this);
}

SimulatedPair::~SimulatedPair() {
  disconnect();
  if (peer_ != nullptr) peer_->peer_ = nullptr;
  queue_.pair = nullptr;
  std::erase(fabric_.pairs_, this);
}

rdma::QueuePairState SimulatedPair::state() const noexcept {
  return fails_at(fabric_.now()) ? rdma::QueuePairState::kError
                                 : rdma::QueuePairState::kReadyToSend;
}

void SimulatedPair::sever(std::uint64_t error_ns) noexcept {
  severed_ = true;
  error_ns_ = std::min(error_ns_, error_ns);
}

void SimulatedPair::disconnect() noexcept {
  if (peer_ != nullptr && !severed_) peer_->sever(fabric_.noticed_at());
  sever(fabric_.now());
}

std::size_t SimulatedPair::revoke(const rdma::MemoryRegion& region) noexcept {
  if (!fabric_.info_.revokes) return 0;
  revoked_.push_back(region.lkey());
  return 1;
}

rdma::PostStatus SimulatedPair::post_send(const rdma::WorkRequest& request) noexcept {
  std::size_t posted = 0;
  return post_send({&request, 1}, &posted);
}

rdma::PostStatus SimulatedPair::post_send(std::span<const rdma::WorkRequest> requests,
                                          std::size_t* posted) noexcept {
  const std::uint64_t now = fabric_.now();
  *posted = 0;
  if (fails_at(now)) return rdma::PostStatus::kNotReady;
  if (fabric_.is_silent(owner_)) {
    *posted = requests.size();
    return rdma::PostStatus::kOk;
  }
  for (const rdma::WorkRequest& work : requests) {
    if (requests_.size() == kDepth) return rdma::PostStatus::kQueueFull;
    Request& request = requests_.emplace_back();
    request.work = work;
    request.status = rdma::CompletionStatus::kSuccess;
    if ((work.flags & rdma::kInline) != 0)
      std::memcpy(request.bytes.data(), work.local_address,
                  std::min<std::size_t>(work.length_bytes, kInlineBytes));
    last_execute_ns_ = request.execute_ns = std::max(last_execute_ns_, now + fabric_.delay());
    last_complete_ns_ = request.complete_ns =
        std::max(last_complete_ns_, last_execute_ns_ + fabric_.delay());
    ++*posted;
  }
  execute_due(now);
  return rdma::PostStatus::kOk;
}

void SimulatedPair::execute_due(std::uint64_t now) noexcept {
  while (!severed_ && executed_ < requests_.size() && requests_[executed_].execute_ns <= now)
    execute(requests_[executed_++]);
}

void SimulatedPair::execute(Request& request) noexcept {
  const rdma::WorkRequest& work = request.work;
  const bool revoked = peer_ == nullptr || std::find(peer_->revoked_.begin(), peer_->revoked_.end(),
                                                     work.rkey) != peer_->revoked_.end();
  const rdma::AccessFlags needed = work.opcode == rdma::Opcode::kWrite  ? rdma::kRemoteWrite
                                   : work.opcode == rdma::Opcode::kRead ? rdma::kRemoteRead
                                                                        : rdma::kRemoteAtomic;
  std::byte* const place = revoked ? nullptr : fabric_.at(work, needed);
  if (place == nullptr) {
    request.status = rdma::CompletionStatus::kRemoteAccess;
    return;
  }
  if (work.opcode == rdma::Opcode::kWrite) {
    const bool inlined = (work.flags & rdma::kInline) != 0;
    std::memcpy(place, inlined ? request.bytes.data() : work.local_address, work.length_bytes);
    return;
  }
  std::memcpy(request.bytes.data(), place, std::min<std::size_t>(work.length_bytes, kInlineBytes));
  if (work.opcode != rdma::Opcode::kCompareSwap) return;
  if (std::memcmp(place, &work.compare_add, sizeof(work.compare_add)) == 0)
    std::memcpy(place, &work.swap, sizeof(work.swap));
}

std::size_t SimulatedPair::poll(std::span<rdma::Completion> out) noexcept {
  fabric_.time_.advance_to(fabric_.now() + kPollNs);
  const std::uint64_t now = fabric_.now();
  fabric_.execute_due();
  std::size_t count = 0;
  std::size_t done = 0;
  for (; done < requests_.size() && count < out.size(); ++done) {
    Request& request = requests_[done];
    const bool executed = done < executed_ && request.complete_ns <= std::min(now, error_ns_);
    if (!executed && !fails_at(now)) break;
    if (!executed) request.status = rdma::CompletionStatus::kFlushed;
    const bool good = request.status == rdma::CompletionStatus::kSuccess;
    if (good && request.work.opcode != rdma::Opcode::kWrite)
      std::memcpy(const_cast<void*>(request.work.local_address), request.bytes.data(),
                  std::min<std::size_t>(request.work.length_bytes, kInlineBytes));
    if (good && (request.work.flags & rdma::kSignaled) == 0) continue;
    out[count++] = {.wr_id = request.work.wr_id,
                    .status = request.status,
                    .opcode = request.work.opcode,
                    .qp_number = number_};
    if (!good) disconnect();
  }
  requests_.erase(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(done));
  executed_ -= std::min(executed_, done);
  return count;
}

// --------------------------------------------------------------------------------------- device

const rdma::DeviceInfo& SimulatedDevice::info() const noexcept { return fabric_.info_; }

std::unique_ptr<rdma::MemoryRegion> SimulatedDevice::allocate(std::size_t size_bytes,
                                                              rdma::AccessFlags access,
                                                              const std::string&) {
  return std::make_unique<SimulatedRegion>(fabric_, size_bytes, access);
}

std::unique_ptr<rdma::CompletionQueue> SimulatedDevice::create_queue(std::uint32_t,
                                                                     rdma::CompletionChannel*) {
  return std::make_unique<SimulatedQueue>();
}

std::unique_ptr<rdma::PendingConnection> SimulatedDevice::start_connect(
    rdma::CompletionQueue&, const rdma::ConnectParameters&) {
  throw rdma::SetupError(rdma::SetupCause::kRefused, "connections are made by Fabric::connect()");
}

// --------------------------------------------------------------------------------------- fabric

Fabric::Fabric(Random& random, clock::VirtualTime& time, const Delays& delays, bool revokes)
    : random_(random), time_(time), delays_(delays) {
  info_.provider = info_.name = "simulated";
  info_.inline_bytes_max = 64;
  info_.queue_depth_max = 64;
  info_.revokes = revokes;
}

std::uint64_t Fabric::delay() noexcept {
  if (delays_.most_ns == 0) return 0;
  if (delays_.spikes_mille != 0 && random_.per_mille(delays_.spikes_mille))
    return random_.below(delays_.spike_ns + 1);
  return random_.below(delays_.most_ns + 1);
}

std::byte* Fabric::at(const rdma::WorkRequest& work, rdma::AccessFlags needed) const noexcept {
  const auto found = regions_.find(work.rkey);
  if (found == regions_.end() || (found->second->access() & needed) == 0) return nullptr;
  const auto begin = reinterpret_cast<std::uint64_t>(found->second->data());
  const std::uint64_t offset = work.remote_address - begin;
  if (work.remote_address < begin || offset + work.length_bytes > found->second->size_bytes())
    return nullptr;
  return found->second->data() + offset;
}

std::pair<std::unique_ptr<link::Connection>, std::unique_ptr<link::Connection>> Fabric::connect(
    int first, std::span<const rdma::Grant> granted_by_first, int second,
    std::span<const rdma::Grant> granted_by_second) {
  const auto make = [this](int owner, std::span<const rdma::Grant> granted_to_it) {
    auto queue = std::make_unique<SimulatedQueue>();
    auto pair = std::make_unique<SimulatedPair>(*this, *queue, owner, as_granted(granted_to_it));
    SimulatedPair* const raw = pair.get();
    return std::pair(std::make_unique<link::Connection>(std::move(queue), std::move(pair), 0), raw);
  };
  auto [one, pair_of_first] = make(first, granted_by_second);
  auto [other, pair_of_second] = make(second, granted_by_first);
  pair_of_first->peer_ = pair_of_second;
  pair_of_second->peer_ = pair_of_first;
  return {std::move(one), std::move(other)};
}

void Fabric::execute_due() noexcept {
  const std::uint64_t now = time_.now_ns();
  for (SimulatedPair* const pair : pairs_) pair->execute_due(now);
}

void Fabric::cut(int first, int second) noexcept {
  for (SimulatedPair* const pair : pairs_) {
    if (pair->severed_ || pair->peer_ == nullptr) continue;
    const bool between = (pair->owner_ == first && pair->peer_->owner_ == second) ||
                         (pair->owner_ == second && pair->peer_->owner_ == first);
    if (between) pair->sever(noticed_at());
  }
}

void Fabric::end(int process) noexcept {
  silent_ &= ~(1u << process);
  for (SimulatedPair* const pair : pairs_) {
    if (pair->owner_ != process) continue;
    // What the device had taken: a part of it, in order, is executed still.
    const std::size_t left = pair->requests_.size() - pair->executed_;
    for (std::size_t more = random_.below(left + 1); more != 0 && !pair->severed_; --more)
      pair->execute(pair->requests_[pair->executed_++]);
    if (pair->peer_ != nullptr) pair->peer_->sever(noticed_at());
    pair->sever(kNever);
  }
}

}  // namespace tickpath::simulation
