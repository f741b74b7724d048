#!/usr/bin/env bash
# Removes the kind cluster NAME, its context and nothing else.
#   delete.sh NAME
. "$(dirname "$0")/../lib.sh"
name=$1
[ -x "$KIND_BIN/kind" ] && timeout 20 docker version >/dev/null 2>&1 || exit 0
# beside it, if bridging mode, secondary networks, tunnels or clients outside were shown or tested there
docker rm --force "$name-vlan-router" "$name-vlan-outside" "$name-switch" "$name-underlay" "$name-outside" >/dev/null 2>&1 || true
if [ -n "$(docker ps -aq --filter "label=io.x-k8s.kind.cluster=$name")" ]; then
    step "kind delete cluster $name" "$KIND_BIN/kind" delete cluster --name "$name" --kubeconfig "$(kubeconfig_of "$name")"
fi

# of create.sh
before=$CACHE/rmem_default
if [ -e "$before" ] && [ -z "$(docker ps -aq --filter label=io.x-k8s.kind.cluster)" ]; then
    step "sysctl net.core.rmem_default=$(<"$before")" sysctl -w "net.core.rmem_default=$(<"$before")"
    rm "$before"
fi
