// Latency of the fabric between two processes, beside the bare cost of moving one cache line.
//
// Every operation is a ping-pong, and every figure half of a round trip: from before the one
// process posts (or, for READ, stores what the other fetches) to after the other has seen it. One
// sample a message, never an average of many. The floor (a word stored by one process, polled by
// the other, and back) and the operations run in alternating rounds on the same two CPUs, so that
// noise meets all alike.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/perf/client_session.hpp"
#include "tools/perf/perf.hpp"

namespace tickpath::rdma::perf {

// Fills in the rows, the floors first, and what is judged. Throws as ClientSession does.
void measure_beside_floor(ClientSession& session, PerfReport& report);

std::string floor_text(const PerfReport& report);
nlohmann::ordered_json floor_json(const PerfReport& report, const PerfRow& row);

}  // namespace tickpath::rdma::perf
