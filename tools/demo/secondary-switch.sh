#!/usr/bin/env bash
# A physical network with VLANs for a second NIC of the Nodes of a local cluster: a container with OVS as the switch, and
# for each Node a cable, whose end eth2 is the NIC.
#   secondary-switch.sh up CLUSTER      makes what of it is missing
#   secondary-switch.sh down CLUSTER    takes it away, with the NICs
. "$(dirname "$0")/../lib.sh"
IMAGE=antrea/antrea-agent:dev
action=$1
cluster=$2
switch=$cluster-switch

nodes() { docker ps --filter "label=io.x-k8s.kind.cluster=$cluster" --format '{{.Names}}' | sort; }
pid_of() { docker inspect --format '{{.State.Pid}}' "$1"; }

start_switch() {
    docker rm --force "$switch" >/dev/null 2>&1 || true
    docker run --detach --name "$switch" --privileged --network none "$IMAGE" start-ovs
    for _ in $(seq 60); do
        ! docker exec "$switch" start-ovs check 2>/dev/null || break
        sleep 0.5
    done
    docker exec "$switch" ovs-vsctl --timeout=20 add-br lan -- set bridge lan datapath_type=netdev
}

# plug NODE: the end in the switch is a trunk with the name of the Node's last part
plug() {
    local node=$1 cable=${1##*-} pid
    ! docker exec "$node" test -e /sys/class/net/eth2 || return 0
    pid=$(pid_of "$node")
    # OVS in userspace copies frames from one end to the other and completes no checksum
    docker run --rm --privileged --pid host --network "container:$switch" --entrypoint sh "$TEST_IMAGE" -ec "
        ip link add $cable type veth peer name eth2 netns $pid
        ethtool -K $cable tx off >/dev/null
        ip link set $cable up"
    docker exec "$node" sh -ec 'ethtool -K eth2 tx off >/dev/null; sysctl -qw net.ipv6.conf.eth2.disable_ipv6=1'
    docker exec "$switch" ovs-vsctl --timeout=20 --may-exist add-port lan "$cable"
}

up() {
    local node
    docker exec "$switch" start-ovs check >/dev/null 2>&1 || start_switch
    for node in $(nodes); do plug "$node"; done
}
down() { docker rm --force "$switch" 2>/dev/null || true; }

case $action in
    up) step "switch with a cable to each Node of $cluster" up ;;
    down) QUIET_WHEN_INSTANT=1 step "no switch beside $cluster" down ;;
    *) fail "there is no action $action" "use up or down" ;;
esac
