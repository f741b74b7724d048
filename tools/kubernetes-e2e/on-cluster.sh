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

prepare_nodes() {
    local node zone=0 control_plane=node-role.kubernetes.io/control-plane
    for node in $(kubectl get nodes -o name); do
        zone=$((zone + 1))
        kubectl label --overwrite "$node" "topology.kubernetes.io/zone=zone-$zone" \
            node.kubernetes.io/exclude-from-external-load-balancers-
        if kubectl get "$node" -o jsonpath='{.spec.taints[*].key}' | grep -qwF "$control_plane"; then
            kubectl taint nodes "${node#node/}" "$control_plane-"
        fi
    done
}
step "a zone for each Node of $cluster, Pods on all" prepare_nodes

network=$(docker network inspect kind --format '{{range .IPAM.Config}}{{println .Subnet}}{{end}}' | grep -vm 1 :)
node "$HERE/load-balancer/main.ts" "$network" >"$balancer_log" 2>&1 </dev/null &
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
