#include "common/link/connection.hpp"

#include <algorithm>

#include "common/base/check.hpp"
#include "common/link/detail/setup.hpp"
#include "common/link/detail/table_setup.hpp"

namespace tickpath::link {

std::uint64_t Connection::add_sink(CompletionSink& sink) noexcept {
  for (std::size_t i = 0; i < kSinksMax; ++i) {
    if (sinks_[i] != nullptr) continue;
    sinks_[i] = &sink;
    return static_cast<std::uint64_t>(i + 1) << kTagShift;
  }
  TICKPATH_CHECK(false, "more sinks on one connection than kSinksMax");
  return 0;
}

void Connection::remove_sink(CompletionSink& sink) noexcept {
  for (CompletionSink*& entry : sinks_)
    if (entry == &sink) entry = nullptr;
}

void Connection::deliver(std::uint64_t tag, const rdma::Completion& completion) noexcept {
  if (tag > kSinksMax || sinks_[tag - 1] == nullptr) return;  // its sink has gone meanwhile
  sinks_[tag - 1]->on_completion(completion);
}

LinkPart require_part(std::span<const std::byte> hello, const LinkPart& ours) {
  const std::optional<LinkPart> theirs = link_part(hello);
  if (!theirs)
    throw rdma::SetupError(rdma::SetupCause::kProtocol,
                           "the peer does not speak tickpath's link protocol, version " +
                               std::to_string(LinkPart::kVersion));
  require_compatible(ours, *theirs);
  return *theirs;
}

std::size_t first_extra(const rdma::QueuePair& pair, const LinkPart& theirs,
                        std::size_t pattern_grants) {
  const std::size_t granted = pair.remote_regions().size();
  if (granted != pattern_grants + theirs.extra_grants)
    throw rdma::SetupError(rdma::SetupCause::kProtocol,
                           "the peer granted " + std::to_string(granted) + " regions, " +
                               std::to_string(pattern_grants + theirs.extra_grants) +
                               " were announced");
  return pattern_grants;
}

void require_region(const rdma::RemoteRegion& region, std::size_t bytes, rdma::AccessFlags access,
                    const char* what) {
  if (region.length_bytes < bytes || (region.access & access) != access)
    throw rdma::SetupError(rdma::SetupCause::kProtocol,
                           std::string("the peer's ") + what + " has " +
                               std::to_string(region.length_bytes) + " bytes and rights " +
                               std::to_string(region.access) + "; needed are " +
                               std::to_string(bytes) + " and " + std::to_string(access));
}

TableConnection connect_tables(rdma::Device& device, const std::string& endpoint,
                               std::span<const std::byte> program_hello,
                               std::span<const rdma::Grant> grants, std::uint32_t timeout_ms,
                               const std::string& peer_role) {
  const LinkPart ours = tables_part(grants.size());
  const std::vector<std::byte> hello = join_hello(program_hello, ours);
  std::unique_ptr<rdma::CompletionQueue> queue = device.create_queue(kTableSendDepth * 2, nullptr);
  rdma::ConnectParameters parameters;
  parameters.endpoint = endpoint;
  parameters.peer_role = peer_role;
  parameters.hello = hello;
  parameters.grants = grants;
  parameters.options = table_options();
  parameters.timeout_ms = timeout_ms;
  rdma::Connected connected = device.connect(*queue, parameters);
  const LinkPart theirs = require_part(connected.answer, ours);
  const std::size_t extra = first_extra(*connected.queue_pair, theirs, 0);
  const std::span<const std::byte> answer = program_part(connected.answer);
  TableConnection result;
  result.answer.assign(answer.begin(), answer.end());
  result.connection =
      std::make_unique<Connection>(std::move(queue), std::move(connected.queue_pair), extra);
  return result;
}

namespace {

PendingLink<std::uint64_t> begin_accept(rdma::Device& device, rdma::ConnectionRequest& request,
                                        std::span<const std::byte> program_answer,
                                        std::span<const rdma::Grant> grants, std::uint64_t tag) {
  return accept_or_reject(request, [&] {
    const LinkPart ours = tables_part(grants.size());
    PendingLink<std::uint64_t> link;
    link.part = require_part(request.hello(), ours);
    link.made = std::make_unique<std::uint64_t>(tag);
    link.queue = device.create_queue(kTableSendDepth * 2, nullptr);
    link.set_up = request.start_accept(*link.queue, table_options(),
                                       join_hello(program_answer, ours), grants, {});
    return link;
  });
}

std::unique_ptr<Connection> adopt(PendingLink<std::uint64_t>& link) {
  const std::size_t extra = first_extra(*link.pair, link.part, 0);
  return std::make_unique<Connection>(std::move(link.queue), std::move(link.pair), extra);
}

}  // namespace

std::unique_ptr<Connection> accept_tables(rdma::Device& device, rdma::ConnectionRequest& request,
                                          std::span<const std::byte> program_answer,
                                          std::span<const rdma::Grant> grants) {
  PendingLink<std::uint64_t> link = begin_accept(device, request, program_answer, grants, 0);
  link.wait();
  return adopt(link);
}

void TableReaders::start_accept(rdma::ConnectionRequest& request,
                                std::span<const std::byte> program_answer,
                                std::span<const rdma::Grant> grants, std::uint64_t tag,
                                Accepted accepted) {
  if (accepts_.size() >= kAcceptsMax) accepts_.drop_oldest();
  accepts_.add(begin_accept(device_, request, program_answer, grants, tag), std::move(accepted));
}

void TableReaders::collect() {
  std::erase_if(readers_, [](const Reader& reader) { return reader.connection->failed(); });
  accepts_.step([this](PendingLink<std::uint64_t> link) {
    readers_.push_back({*link.made, adopt(link)});
    return std::uint32_t{0};
  });
}

bool TableReaders::holds(std::uint64_t tag) const noexcept {
  return std::ranges::any_of(readers_, [tag](const Reader& reader) { return reader.tag == tag; });
}

void TableReaders::drop(std::uint64_t tag) {
  std::erase_if(readers_, [tag](const Reader& reader) { return reader.tag == tag; });
}

std::size_t TableReaders::revoke(std::uint64_t tag, const rdma::MemoryRegion& region) {
  accepts_.drop_all("rights were revoked meanwhile");
  std::size_t count = 0;
  for (const Reader& reader : readers_)
    if (reader.tag == tag) count += reader.connection->queue_pair().revoke(region);
  return count;
}

}  // namespace tickpath::link
