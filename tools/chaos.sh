#!/usr/bin/env bash
# Churn on a real cluster while its programs are killed and paused, disks are full and the API server is slow, and what must
# hold meanwhile and after (docs/chaos.md). The cluster is the one of the e2e suites, made afresh and removed after.
#   MINUTES=30     how long
#   BRIDGING=1     in bridging mode
#   NETWORKS=1     with Pods that have four VLAN networks
#   PROXYALL=1     without kube-proxy, with clients that connect to Services all the time
#   WRITE=1        writes docs/benchmarks/chaos-{overlay,bridging,networks,services}.md
#   KEEP=1         keeps the cluster; REUSE=1 takes one that was kept
. "$(dirname "$0")/lib.sh"
cluster=$TEST_CLUSTER
export E2E_CLUSTER=$cluster E2E_CHART=$REPO/charts/antrea KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$cluster")
cd "$REPO"
modes=(${NETWORKS:+NETWORKS} ${BRIDGING:+BRIDGING} ${PROXYALL:+PROXYALL})
[ ${#modes[@]} -le 1 ] || fail "${modes[*]} do not go together" "set one of them"

"$TOOLS/cluster/build-programs.sh"
"$TOOLS/build.sh"
# agent and OVS keep their state on a small file system of its own, which is there before they start
separate_state() {
    local node
    for node in $("$KIND_BIN/kind" get nodes --name "$cluster"); do
        docker exec "$node" sh -ec 'mkdir -p /var/lib/antrea; mount -t tmpfs -o size=64m,mode=0700 antrea-state /var/lib/antrea'
    done
}
[ -z "${PROXYALL:-}" ] || export KUBE_PROXY=none
if [ -z "${REUSE:-}" ]; then
    "$TOOLS/cluster/create.sh" "$cluster"
    step "a file system of 64 MiB for the state of agent and OVS" separate_state
fi
"$TOOLS/images/load.sh" "$cluster"
"$TOOLS/cluster/install-chart.sh" "$cluster" --set featureGates.AntreaIPAM=true

mode=overlay
[ -z "${NETWORKS:-}" ] || mode=networks
[ -z "${BRIDGING:-}" ] || mode=bridging
[ -z "${PROXYALL:-}" ] || mode=services
result=0
node e2e/chaos/main.ts --minutes "${MINUTES:-30}" --mode "$mode" ${WRITE:+--write} || result=$?
exec "$TOOLS/cluster/leave.sh" "$cluster" "$result"
