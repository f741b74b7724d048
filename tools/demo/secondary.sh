#!/usr/bin/env bash
# Shows secondary networks: a Pod with eth0, interfaces in two VLANs and one of macvlan, its annotation, who has
# which address, who reaches whom, and a tagged frame on the cable. Fails if one of these fails. macvlan is called by libcni,
# as Multus does, which cannot be had here.
. "$(dirname "$0")/../lib.sh"
cd "$REPO"
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$CLUSTER")
kubectl() { command kubectl --context "kind-$CLUSTER" "$@"; }
antctl() { apps/antctl/dist/antctl --context "kind-$CLUSTER" "$@"; }
demo() { kubectl --namespace antrea-demo-secondary "$@"; }
show() {
    printf '$ %s\n' "$*"
    "$@" || return
    echo
}
logs="kubectl --context kind-$CLUSTER -n kube-system logs daemonset/antrea-agent"

start() {
    kubectl apply -f tools/demo/secondary-crd.yaml
    kubectl wait --for=condition=Established crd/network-attachment-definitions.k8s.cni.cncf.io --timeout=60s
    kubectl get --raw /apis/k8s.cni.cncf.io/v1 >/dev/null
    kubectl apply -f tools/demo/secondary-pods.yaml
    demo rollout status daemonset/vlans --timeout=120s
}

# one line a Pod: name, Node, UID, address of eth1
pods() {
    demo get pods --sort-by=.metadata.name --output json | jq -r '.items | sort_by(.spec.nodeName)[]
        | select(.metadata.deletionTimestamp == null)
        | [.metadata.name, .spec.nodeName, .metadata.uid,
            (.metadata.annotations["k8s.v1.cni.cncf.io/network-status"] // "[]" | fromjson | .[] | select(.interface == "eth1") | .ips[0])]
        | @tsv'
}

# macvlan ACTION POD NODE UID: calls the plugin for the Pod's sandbox
macvlan() {
    local action=$1 pod=$2 node=$3 uid=$4 id netns
    id=$(docker exec "$node" crictl pods --state Ready --label "io.kubernetes.pod.uid=$uid" --quiet)
    netns=$(docker exec "$node" crictl inspectp "$id" | jq -r '.info.runtimeSpec.linux.namespaces[] | select(.type == "network").path')
    docker cp "$CNI_PLUGINS_BIN/macvlan" "$node:/opt/cni/bin/macvlan" >/dev/null
    docker cp "$LIBCNI_BIN/libcni" "$node:/opt/cni/libcni" >/dev/null
    docker exec -i "$node" sh -c 'cat >/opt/cni/macvlan.conflist' <<<'{"cniVersion": "1.0.0", "name": "macnet", "plugins": [{"type": "macvlan", "master": "eth0",
        "mode": "bridge", "ipam": {"type": "antrea", "ippools": ["demo-macvlan"]}}]}'
    docker exec "$node" /opt/cni/libcni -args \
        "IgnoreUnknown=1;K8S_POD_NAMESPACE=antrea-demo-secondary;K8S_POD_NAME=$pod;K8S_POD_UID=$uid;K8S_POD_INFRA_CONTAINER_ID=$id" \
        -capabilities '{}' "$action" /opt/cni/macvlan.conflist /opt/cni/bin /opt/cni/cache "$id" "$netns" net1
}

# pings the address of VLAN 100 while the cable is watched
on_the_wire() {
    docker run --rm --network "container:$CLUSTER-switch" --cap-add NET_ADMIN --entrypoint sh "$TEST_IMAGE" -c \
        "echo root:x:0:0::/:/bin/sh >/etc/passwd
        exec timeout 10 tcpdump -Z root -i ${2##*-} -e -nn -t -l -c 2 'icmp or (vlan and icmp)'" 2>/dev/null &
    sleep 2
    demo exec "$1" -- ping -c 2 -W 2 -I eth1 "$3" >/dev/null
    wait $! || true
}

step "demo Pods with networks" start
mapfile -t lines < <(pods)
IFS=$'\t' read -r pod node uid _ <<<"${lines[0]}"
IFS=$'\t' read -r peer _ _ address <<<"${lines[1]}"
echo "Pod $pod on $node has eth0 and, of its annotation, eth1 in VLAN 100 and lan in VLAN 200; now macvlan makes net1:"
demo exec "$pod" -- ip link show net1 >/dev/null 2>&1 || macvlan ADD "$pod" "$node" "$uid" >/dev/null
show demo exec "$pod" -- ip -brief address
echo 'Its annotation k8s.v1.cni.cncf.io/network-status, about the interfaces that Antrea makes:'
demo get pod "$pod" --output json | jq '.metadata.annotations["k8s.v1.cni.cncf.io/network-status"] | fromjson'
echo
echo 'Who has these addresses:'
while read -r ip; do show antctl ipam who "$ip"; done < <(kubectl get ipallocations --output json |
    jq -r --arg pod "$pod" '.items[].spec | select(.pod.name == $pod) | .address')
show kubectl get ipallocations --output wide
echo "A ping from $pod to $peer on another Node in VLAN 100, on the cable of $node:"
wire=$(on_the_wire "$pod" "$node" "$address")
printf '%s\n' "$wire"
case $wire in
    *'vlan 100'*) ;;
    *) fail "no frame with the tag of VLAN 100" "$logs" ;;
esac
