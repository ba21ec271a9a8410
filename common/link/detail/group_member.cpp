#include "common/link/detail/group_member.hpp"

#include <utility>

namespace tickpath::link {
namespace {

// An address that is set anew, a subnet manager that is started: seconds. Each try is a request to
// the network.
constexpr std::chrono::seconds kTryEvery{1};
constexpr std::chrono::seconds kTryPatience{5};

}  // namespace

GroupMember::GroupMember(rdma::DatagramQueuePair& pair, std::string group, rdma::MulticastRole role)
    : pair_(pair), group_(std::move(group)), role_(role), membership_(pair.join(group_, role)) {}

std::string GroupMember::error_text() const {
  const std::lock_guard lock(mutex_);
  return error_text_;
}

void GroupMember::say(const std::string& text) {
  const std::lock_guard lock(mutex_);
  error_text_ = text;
}

void GroupMember::wait() {
  rdma::wait_for(*membership_);
  handle_.store(membership_->group(), std::memory_order_release);  // as in take()
}

void GroupMember::keep() {
  if (lost_) return join_again();
  membership_->poll();
  const std::string why = membership_->error_text();
  if (why.empty()) return;
  lost_ = true;
  say(why);
  // A queue pair is attached to a group once, and leaving detaches it.
  if (role_ != rdma::MulticastRole::kSender) membership_.reset();
  try_at_ = Clock::now();
}

void GroupMember::join_again() {
  const Clock::time_point now = Clock::now();
  if (now < try_at_) return;
  try {
    if (!next_) {
      next_ = pair_.join(group_, role_);
      give_up_at_ = now + kTryPatience;
    }
    if (next_->poll()) return take(std::move(next_));
    if (now > give_up_at_)
      throw rdma::SetupError(rdma::SetupCause::kTimeout, "the network did not answer");
  } catch (const rdma::SetupError& error) {
    next_.reset();
    try_at_ = now + kTryEvery;
    say(error.what());
  }
}

void GroupMember::take(std::unique_ptr<rdma::MulticastMembership> joined) {
  former_ = std::exchange(membership_, std::move(joined));
  // Pairs with the acquire in group(): who sends to the handle sees all of it.
  handle_.store(membership_->group(), std::memory_order_release);
  lost_ = false;
  say({});
}

}  // namespace tickpath::link
