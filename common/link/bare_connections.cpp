#include "common/link/bare_connections.hpp"

#include "common/link/detail/setup.hpp"
#include "common/link/detail/table_setup.hpp"

namespace tickpath::link {

void BareConnections::start_connect(const std::string& endpoint,
                                    std::span<const std::byte> program_hello,
                                    std::span<const rdma::Grant> grants, std::uint64_t tag,
                                    const std::string& peer_role) {
  handover_.require_room("connections of " + endpoint);
  const LinkPart ours = tables_part(grants.size());
  const std::vector<std::byte> hello = join_hello(program_hello, ours);
  PendingLink<std::uint64_t> link;
  link.part = ours;
  link.made = std::make_unique<std::uint64_t>(tag);
  link.queue = device_.create_queue(kTableSendDepth * 2, channel_);
  rdma::ConnectParameters parameters;
  parameters.endpoint = endpoint;
  parameters.peer_role = peer_role;
  parameters.hello = hello;
  parameters.grants = grants;
  parameters.options = table_options();
  link.set_up = device_.start_connect(*link.queue, parameters);
  connect_.begin(std::move(link));
}

std::optional<std::vector<std::byte>> BareConnections::poll_connect() {
  return connect_.poll([this](PendingLink<std::uint64_t> link, std::span<const std::byte> answer) {
    const LinkPart theirs = require_part(answer, link.part);
    const std::size_t extra = first_extra(*link.pair, theirs, 0);
    const std::uint64_t tag = *link.made;
    adopt(std::make_unique<Connection>(std::move(link.queue), std::move(link.pair), extra), tag);
    const std::span<const std::byte> program = program_part(answer);
    return std::vector<std::byte>(program.begin(), program.end());
  });
}

void BareConnections::start_accept(rdma::ConnectionRequest& request,
                                   std::span<const std::byte> program_answer,
                                   std::span<const rdma::Grant> grants, std::uint64_t tag,
                                   Accepted accepted) {
  accept_or_reject(request, [&] {
    handover_.require_room("connections");
    if (accepts_.size() >= kMax / 2) accepts_.drop_oldest();
    const LinkPart ours = tables_part(grants.size());
    PendingLink<std::uint64_t> link;
    link.part = require_part(request.hello(), ours);
    link.made = std::make_unique<std::uint64_t>(tag);
    link.queue = device_.create_queue(kTableSendDepth * 2, channel_);
    link.set_up = request.start_accept(*link.queue, table_options(),
                                       join_hello(program_answer, ours), grants, {});
    accepts_.add(std::move(link), std::move(accepted));
  });
}

void BareConnections::adopt(std::unique_ptr<Connection> connection, std::uint64_t tag) {
  handover_.require_room("connections");
  handover_.give(std::make_unique<BareConnection>(BareConnection{tag, std::move(connection)}));
}

void BareConnections::collect() {
  handover_.collect();
  accepts_.step([this](PendingLink<std::uint64_t> link) {
    const std::size_t extra = first_extra(*link.pair, link.part, 0);
    const std::uint64_t tag = *link.made;
    adopt(std::make_unique<Connection>(std::move(link.queue), std::move(link.pair), extra), tag);
    return std::uint32_t{0};
  });
}

}  // namespace tickpath::link
