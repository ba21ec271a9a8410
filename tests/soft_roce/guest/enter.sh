#!/bin/bash
# In the guest, on the host's file system: makes the RDMA device rxe0 or siw0 ($RIG_DEVICE is "rxe", RoCE v2, or
# "siw", iWARP) at $RIG_ADDRESS, then does what the rig asks (agent.py). $RIG_NETWORK is "alone" (a dummy interface) or "joined" (the cable eth0).
set -euo pipefail
ip link set lo up multicast on
if [ "$RIG_NETWORK" = alone ]; then
  device=d0
  ip link add "$device" type dummy
else
  device=eth0
fi
ip addr add "$RIG_ADDRESS/24" dev "$device"
ip link set "$device" up multicast on
ip route add 239.0.0.0/8 dev "$device"
rdma link add "${RIG_DEVICE}0" type "$RIG_DEVICE" netdev "$device"
exec python3 -S "$RIG_TREE/tests/soft_roce/guest/agent.py"
