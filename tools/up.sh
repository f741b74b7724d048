#!/usr/bin/env bash
# From a fresh clone to a running demo: installs what is missing, builds, creates the kind cluster `antrea`, installs
# the chart, starts demo Pods and shows who reaches whom. Run again, it does only what is needed. BRIDGING=1 shows bridging
# mode instead of pools that are on no wire, SECONDARY=1 VLANs of a second NIC as well; without them the next run goes back.
# PROXYALL=1 makes a cluster without kube-proxy, where AntreaProxy serves all Services.
. "$(dirname "$0")/lib.sh"
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$CLUSTER")
kubectl() { command kubectl --context "kind-$CLUSTER" "$@"; }
begin=$(date +%s)

# A cluster is kept if it was made from the same image and settings, and answers (after a restart of the machine its
# Nodes need a moment).
cluster_stands() {
    [ "$(cat "$stamp" 2>/dev/null || true)" = "$inputs" ] || return 1
    [ "$(docker ps -q --filter "label=io.x-k8s.kind.cluster=$CLUSTER" | wc -l)" = 3 ] || return 1
    for _ in $(seq 30); do
        kubectl get --raw /readyz >/dev/null 2>&1 && return 0
        sleep 2
    done
    return 1
}

wait_for_nodes() {
    kubectl wait --for=condition=Ready nodes --all --timeout=180s
    # helm is content when all but one of the agents are ready
    kubectl -n kube-system rollout status daemonset/antrea-agent --timeout=180s
}
start_demo() {
    kubectl apply -f "$TOOLS/demo/pods.yaml"
    kubectl -n antrea-demo rollout status daemonset/server --timeout=180s
    kubectl -n antrea-demo rollout status daemonset/client --timeout=180s
    kubectl -n kube-system rollout status deployment/coredns --timeout=180s
}
start_pool_demo() {
    kubectl apply -f "$TOOLS/demo/pool.yaml"
    kubectl apply -f "$TOOLS/demo/pool-pods.yaml"
    kubectl -n antrea-demo wait --for=condition=Ready pod/pool-pod --timeout=120s
    kubectl -n antrea-demo rollout status statefulset/pool-set --timeout=120s
}
# Pods whose network is not there in the other mode
end_other_demo() {
    if [ -n "${BRIDGING:-}" ]; then
        kubectl delete -f "$TOOLS/demo/pool-pods.yaml" --ignore-not-found
    else
        kubectl delete namespace antrea-demo-bridging --ignore-not-found
    fi
    [ -n "${SECONDARY:-}" ] || kubectl delete namespace antrea-demo-secondary --ignore-not-found
}

"$TOOLS/setup/bootstrap.sh"
"$TOOLS/build.sh"
image=$("$TOOLS/cluster/node-image.sh")
stamp=$CACHE/cluster-$CLUSTER.inputs
[ -z "${PROXYALL:-}" ] || export KUBE_PROXY=none
inputs=$(hash "$image" "$TOOLS/cluster/kind.yaml")${KUBE_PROXY:+ without kube-proxy}
if ! cluster_stands; then
    rm -f "$stamp"
    "$TOOLS/cluster/create.sh" "$CLUSTER"
    printf '%s\n' "$inputs" >"$stamp"
fi
"$TOOLS/images/load.sh" "$CLUSTER"
QUIET_WHEN_INSTANT=1 step "no Pods of another demo" end_other_demo
values=(--set featureGates.AntreaIPAM=true)
if [ -n "${BRIDGING:-}" ]; then
    # first, for what it sets on the NICs
    "$TOOLS/demo/bridging-router.sh" up "$CLUSTER"
    values+=(--set "enableBridgingMode=true,noSNAT=true")
fi
if [ -n "${SECONDARY:-}" ]; then
    "$TOOLS/demo/secondary-switch.sh" up "$CLUSTER"
    values+=(--set featureGates.SecondaryNetwork=true
        --set-json 'secondaryNetwork.ovsBridges=[{"bridgeName": "br-secondary", "physicalInterfaces": ["eth2"]}]')
fi
"$TOOLS/cluster/install-chart.sh" "$CLUSTER" "${values[@]}"
QUIET_WHEN_INSTANT=1 step "Nodes and agents become ready" wait_for_nodes
step "demo Pods" start_demo
rc=0
"$TOOLS/demo/show.sh" || rc=$?
echo
if [ -n "${BRIDGING:-}" ]; then
    # again: now the Nodes have podCIDRs
    "$TOOLS/demo/bridging-router.sh" up "$CLUSTER"
    "$TOOLS/demo/bridging.sh" || rc=$?
else
    "$TOOLS/demo/bridging-router.sh" down "$CLUSTER"
    step "Pods of pools" start_pool_demo
    "$TOOLS/demo/show-pools.sh" || rc=$?
fi
if [ -n "${SECONDARY:-}" ]; then
    echo
    "$TOOLS/demo/secondary.sh" || rc=$?
else
    "$TOOLS/demo/secondary-switch.sh" down "$CLUSTER"
fi
if [ -n "${PROXYALL:-}" ]; then
    echo
    "$TOOLS/demo/services.sh" || rc=$?
fi
say "up after $(($(date +%s) - begin)) s. Look around with: $KUBERNETES_BIN/kubectl --context kind-$CLUSTER get pods -A -o wide"
exit "$rc"
