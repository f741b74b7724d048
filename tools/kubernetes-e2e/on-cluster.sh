#!/usr/bin/env bash
# Runs Kubernetes' own tests on a local cluster, which is made fit for them: their images are on its Nodes, which are in
# three zones and all take Pods, and this machine is a load balancer while they run.
#   on-cluster.sh CLUSTER [NAME]     NAME as in run.sh
. "$(dirname "$0")/../lib.sh"
HERE=$TOOLS/kubernetes-e2e
cluster=$1
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$cluster")
balancer_log=$LOGS/load-balancer.log
"$TOOLS/cluster/build-programs.sh" e2e.test
"$HERE/images.sh" "$cluster"

# The label of the control plane goes first: Kubernetes gives Nodes that have it no part in the hints of
# zones, and looks at that again when the zone of a Node changes.
prepare_nodes() {
    local node name zone=0
    for node in $(kubectl get nodes -o name); do
        name=${node#node/} zone=$((zone + 1))
        kubectl label "$node" node-role.kubernetes.io/control-plane- node.kubernetes.io/exclude-from-external-load-balancers-
        if kubectl get "$node" -o jsonpath='{.spec.taints[*].key}' | grep -qwF node-role.kubernetes.io/control-plane; then
            kubectl taint nodes "$name" node-role.kubernetes.io/control-plane-
        fi
        kubectl label --overwrite "$node" "topology.kubernetes.io/zone=zone-$zone"
    done
}
step "a zone for each Node of $cluster, Pods on all" prepare_nodes

network=$(docker network inspect kind --format '{{range .IPAM.Config}}{{println .Subnet}}{{end}}' | grep -vm 1 :)
# it ends with this script, also when that is killed
setpriv --pdeathsig TERM node "$HERE/load-balancer/main.ts" "$network" >"$balancer_log" 2>&1 </dev/null &
balancer=$!
stop_balancer() {
    kill -TERM "$balancer" 2>/dev/null || true
    wait "$balancer"
}
trap 'stop_balancer || true' EXIT
for _ in $(seq 60); do
    ! grep -q '"msg":"serving"' "$balancer_log" || break
    kill -0 "$balancer" 2>/dev/null || break
    sleep 1
done
grep -q '"msg":"serving"' "$balancer_log" || fail "the load balancer of the tests does not serve" "read $balancer_log"
result=0
"$HERE/run.sh" "${@:2}" || result=$?
trap - EXIT
stop_balancer || fail "the load balancer of the tests ended with an error" "read $balancer_log"
exit "$result"
