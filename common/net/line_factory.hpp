// In place of the kernel's network: what the multicast lines of a process are made of when the
// whole pipeline runs inside it (deterministic replay).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "common/net/endpoint.hpp"

namespace tickpath::net {

// One end of a line: datagrams, whole and in order. Datapath thread.
class MemoryLine {
 public:
  virtual ~MemoryLine() = default;
  // False: there is no room.
  virtual bool send(std::span<const std::byte> datagram) noexcept = 0;
  // Valid until the next call; empty: nothing is there.
  virtual std::span<const std::byte> receive() noexcept = 0;
};

// Control thread.
class LineFactory {
 public:
  virtual ~LineFactory() = default;
  virtual std::shared_ptr<MemoryLine> sender(const Endpoint& group) = 0;
  virtual std::shared_ptr<MemoryLine> receiver(const Endpoint& group) = 0;
};

// Before the first line is opened; nullptr: the kernel's network again.
void set_line_factory(LineFactory* factory) noexcept;
LineFactory* line_factory() noexcept;

}  // namespace tickpath::net
