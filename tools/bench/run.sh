#!/usr/bin/env bash
# Runs all benchmarks and writes docs/benchmarks/README.md, latest.json and the charts.
#   run.sh [BENCHMARK...]     only these, printed and not written: calls plugin burst shim nodes flows peers data-plane
#                             bridging claims networks services pool-add ipam growth claims-at-rest webhook; of these also
#                             claims-{1,10,100,open,full,watched}, networks-{burst,calls,ipam,traffic,many},
#                             services-{start,changes,traffic,quiet,growth} alone
#   run.sh --write BENCHMARK...   these, in the place of their results in what a whole run has written
#   run.sh --draw             nothing: page and charts again from latest.json
#   BENCH_NODE_OPTIONS        options of Node.js for agent and controller, for profiles: --cpu-prof --cpu-prof-dir=/tmp/p
#   BENCH_SERVICES            number of Services in services-…, from 100, by default 10,000; below 5,000 also less of all
#                             else; nothing of such a run is written
#
# Builds what is missing, then goes on in network, mount and process namespaces of its own: nothing of the machine's
# network is touched, and whatever is left running ends with the process namespace.
. "$(dirname "$0")/../lib.sh"
cd "$REPO"
if [ "${1:-}" = --draw ]; then
    exec node --disable-warning=ExperimentalWarning "$TOOLS/bench/main.ts" --draw
fi
[ "$(id -u)" = 0 ] || fail "the benchmarks make network namespaces, which needs root" "run this as root"
need_packages time iproute2 nftables ethtool iperf3 openvswitch-switch dnsmasq-base

"$TOOLS/cluster/build-programs.sh" etcd cni-plugins helm
[ -x "$KUBERNETES_BIN/kube-apiserver" ] && [ -x "$KUBERNETES_BIN/kube-proxy" ] || "$TOOLS/cluster/build-programs.sh" kubernetes

work=$(mktemp -d /tmp/bench-XXXXXX)
trap 'rm -rf "$work"' EXIT
build_apps() { npx --no-install nx run-many -t build -p @antrea/agent @antrea/controller @antrea/webhook @antrea/antrea-cni --outputStyle=static; }
# The peer of the shim: the same compiler, the same options.
build_printer() {
    "$REPO/node_modules/@oven/bun-linux-x64-baseline/bin/bun" build --compile --bytecode --minify \
        "$TOOLS/bench/printer.ts" --outfile "$work/printer"
}
export NX_DAEMON=false
step "nx build" build_apps
QUIET_WHEN_INSTANT=1 step "compile printer" build_printer

export ANTREA_CACHE=$CACHE BENCH_WORK=$work BENCH_CNI_PLUGINS=$CNI_PLUGINS_BIN BENCH_KUBERNETES=$KUBERNETES_BIN
unshare --net --mount --pid --fork --kill-child --mount-proc -- "$TOOLS/bench/sandbox.sh" "$@"
