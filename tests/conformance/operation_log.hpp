// What processes on several hosts did to one shared record, and whether it is linearisable.
//
// No clock is common to the hosts. Each operation is framed by two tickets, which are the answers
// to a FETCH_ADD on a word beside the record: an operation whose second ticket is below the first
// ticket of another one had ended when that began. With the order of writes known from the
// versions, that is all that linearisability asks for (Herlihy and Wing, 1990, section 2).
//
// A file a process, a line an operation, as it goes:
//   read BEGUN ENDED VERSION WRITER WHOLE    WHOLE: 1, or 0 where the words were of two versions;
//                                            VERSION 0: nothing was there yet
//   attempt BEGUN VERSION                    before a publication is asked for
//   published BEGUN ENDED VERSION            the attempt before it was one
//   lost BEGUN ENDED VERSION                 it was none; VERSION is what was there instead
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tickpath::conformance {

struct Operation {
  enum class Kind : std::uint8_t { kRead, kPublished, kLost };
  Kind kind;
  std::uint64_t begun;
  std::uint64_t ended;
  std::uint64_t version;
  std::uint64_t writer;  // reads: as the record says; publications: who did it
  bool whole = true;     // reads
};

// An attempt whose outcome nobody was told, because its process was killed.
struct Unknown {
  std::uint64_t begun;
  std::uint64_t version;
  std::uint64_t writer;
};

struct OperationLog {
  std::vector<Operation> operations;
  std::vector<Unknown> unknown;

  // What process `writer` wrote. A last line that is cut short is of a process that was killed, and
  // left out. Throws Error: a line is none.
  void add(std::istream& lines, std::uint64_t writer, const std::string& name);
  std::size_t count(Operation::Kind kind) const;
};

// What is wrong, a line each; empty: nothing.
std::vector<std::string> faults_of(const OperationLog& log);

}  // namespace tickpath::conformance
