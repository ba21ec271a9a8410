// What a device grants is known only by asking for it. Queue pairs and a window are made for a
// moment when it is opened.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "common/rdma/verbs/choice.hpp"

namespace tickpath::rdma::detail {

// Bytes that a request can carry inline. Over InfiniBand and RoCE.
std::uint32_t probe_inline(ibv_context* context, ibv_pd* domain);

// Requests of a send queue, each with inline_bytes inline, at most `most`. What max_qp_wr says is
// the queue's memory: libmlx5 gives a request up to sixteen parts of it (mlx5_calc_sq_size()).
std::uint32_t probe_send_depth(ibv_context* context, ibv_pd* domain, std::uint32_t most,
                               std::uint32_t inline_bytes);

// The device says that it has windows bound to a queue pair, gives one, and binds it. Virtual
// functions whose firmware forbids the bind say and give them all the same.
bool probe_windows(const ChosenDevice& chosen, const ibv_device_attr& limits, ibv_pd* domain);

// A completion queue can grow after it was made. Soft-iWARP's cannot.
bool probe_resize(ibv_context* context);

}  // namespace tickpath::rdma::detail
