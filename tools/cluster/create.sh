#!/usr/bin/env bash
# Creates the kind cluster NAME afresh; one of that name is removed first. Its context is kind-NAME.
#   create.sh NAME
#   KUBE_PROXY=none              without kube-proxy, whose work AntreaProxy does; else it is there, in mode iptables
. "$(dirname "$0")/../lib.sh"
HERE=$TOOLS/cluster
name=$1
kubeconfig=$(kubeconfig_of "$name")

image=$("$HERE/node-image.sh")
"$HERE/build-programs.sh" tools
"$HERE/delete.sh" "$name"

# The network is kind's own. Made here first where no registry answers: nothing on the Nodes has a reason to leave the
# machine then, so they are not masqueraded.
make_network() {
    docker network create kind --driver bridge --ipv6 --subnet fc00:f853:ccd:e793::/64 \
        --opt com.docker.network.bridge.enable_ip_masquerade=false
}
case $image in
    kindest/*) ;;
    *) docker network inspect kind >/dev/null 2>&1 || step "docker network kind" make_network ;;
esac

# With the userspace datapath frames wait for OVS in a buffer of this size, for each interface (docs/datapaths.md): the
# usual 208 KiB, some 90 frames, are too few when the agent of a Node lists objects through the same NIC. A container
# has the setting of its machine; delete.sh sets it back with the last cluster.
buffer=4194304
before=$(cat /proc/sys/net/core/rmem_default)
if [ "$before" -lt "$buffer" ]; then
    echo "$before" >"$CACHE/rmem_default"
    step "sysctl net.core.rmem_default=$buffer" sysctl -w "net.core.rmem_default=$buffer"
fi

config() { sed "s/kubeProxyMode: .*/kubeProxyMode: ${KUBE_PROXY:-iptables}/" "$HERE/kind.yaml"; }
create() {
    config | "$KIND_BIN/kind" create cluster --name "$name" --image "$image" --config - --kubeconfig "$kubeconfig" --wait 0s
    case $image in
        # built here, it carries the image of the test Pods; another does not
        kindest/*) "$KIND_BIN/kind" load docker-image --name "$name" "$TEST_IMAGE" ;;
    esac
}
step "kind create cluster $name" create
say "cluster $name: context kind-$name in $kubeconfig"
