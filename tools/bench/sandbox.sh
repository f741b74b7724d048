#!/usr/bin/env bash
# The first process inside the namespaces of run.sh: a Node's interface, room for Pod namespaces, then the benchmarks.
set -euo pipefail
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
ip link set lo up
# The kernel need not have "dummy" links; a veth pair has a carrier once both ends are up.
ip link add bench0 type veth peer name bench1
ip link set bench1 up
ip link set bench0 up
ip address add 192.0.2.10/24 dev bench0
ip address add 2001:db8::10/64 dev bench0 nodad
exec node --disable-warning=ExperimentalWarning "$(dirname "$0")/main.ts" "$@"
