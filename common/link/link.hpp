// Communication patterns over common/rdma, unaware of what they carry.
//
// clang-format off
//   publisher.hpp, subscriber.hpp   update ring and images       one writes, many read, nobody waits
//   multicast.hpp                   both of them by datagrams     one send for all, gaps are READ
//   channel.hpp                     message channel              SEND/RECV with credits, both ways
//   control_block.hpp               control block                one record that one peer may write
//   remote_table.hpp                remote table                 rows that others READ
//   table_follower.hpp              rows of a table that grows   each once, in order
//   reconnect.hpp                   the control thread's half of every client
//   heartbeat.hpp                   heartbeat                    a counter that others READ
//   clock_exchange.hpp              clock offset                 between the hosts of two ends
//   connection.hpp, handshake.hpp   what they share
// clang-format on
//
// Control threads connect and accept; datapath threads publish, send, poll. Endpoints pass between
// them through single-producer rings. DESIGN.md has the reasons.
#pragma once

#include "common/link/channel.hpp"
#include "common/link/clock_exchange.hpp"
#include "common/link/connection.hpp"
#include "common/link/control_block.hpp"
#include "common/link/handshake.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/multicast.hpp"
#include "common/link/publisher.hpp"
#include "common/link/reconnect.hpp"
#include "common/link/remote_table.hpp"
#include "common/link/ring.hpp"
#include "common/link/subscriber.hpp"
#include "common/link/table_follower.hpp"
#include "common/link/versioned_record.hpp"
