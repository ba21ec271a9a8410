// In place of the kernel's network: where the multicast lines of a process get their sockets when
// the whole pipeline runs inside it (deterministic replay).
#pragma once

#include "common/net/endpoint.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::net {

// Gives connected datagram sockets that keep message boundaries and order. Control thread.
class LineFactory {
 public:
  virtual ~LineFactory() = default;
  virtual FileDescriptor sender(const Endpoint& group) = 0;
  virtual FileDescriptor receiver(const Endpoint& group) = 0;
};

// Before the first line is opened; nullptr: the kernel's network again.
void set_line_factory(LineFactory* factory) noexcept;
LineFactory* line_factory() noexcept;

}  // namespace tickpath::net
