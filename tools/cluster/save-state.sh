#!/usr/bin/env bash
# Saves what is needed to understand a failure: objects, events, logs, and of every Node its OVS, links and rules.
#   save-state.sh CLUSTER FOLDER
. "$(dirname "$0")/../lib.sh"
set +e
cluster=$1 folder=$2
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$cluster")
mkdir -p "$folder"
kubectl get nodes,pods -A -o wide >"$folder/objects.txt" 2>&1
kubectl get nodes,pods -A -o yaml >"$folder/objects.yaml" 2>&1
kubectl get events -A --sort-by=.lastTimestamp >"$folder/events.txt" 2>&1
helm history antrea -n kube-system >"$folder/helm.txt" 2>&1
kubectl -n kube-system get pods -o name | while read -r pod; do
    name=${pod#pod/}
    for container in $(kubectl -n kube-system get "$pod" -o jsonpath='{.spec.initContainers[*].name} {.spec.containers[*].name}'); do
        kubectl -n kube-system logs "$pod" -c "$container" --tail=5000 >"$folder/$name-$container.log" 2>&1
        kubectl -n kube-system logs "$pod" -c "$container" --previous --tail=5000 >"$folder/$name-$container-previous.log" 2>/dev/null
    done
done
for node in $("$KIND_BIN/kind" get nodes --name "$cluster" 2>/dev/null); do
    pod=$(kubectl -n kube-system get pods -l component=antrea-agent --field-selector "spec.nodeName=$node" -o name | head -n 1)
    for command in "ovs-vsctl show" "ovs-vsctl list interface" "ovs-ofctl -O OpenFlow15 dump-flows br-int" \
        "ovs-ofctl -O OpenFlow15 dump-ports-desc br-int" "ovs-appctl dpctl/dump-conntrack"; do
        { echo "# $command"; kubectl -n kube-system exec "${pod:-none}" -c antrea-ovs -- $command; } >>"$folder/$node-ovs.txt" 2>&1
    done
    for command in "ip -d address" "ip route show table all" "ip -6 route show table all" "nft list ruleset" "ls -l /var/run/netns" "journalctl -u kubelet -n 500 --no-pager" "journalctl -u containerd -n 300 --no-pager"; do
        { echo "# $command"; docker exec "$node" $command; } >>"$folder/$node.txt" 2>&1
    done
done
