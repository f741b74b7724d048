#!/usr/bin/env bash
# An underlay with VLANs for bridging mode on a local cluster: a container with OVS that routes between VLAN 0, 2 and 3 of
# the docker network `kind`, where the NICs of the Nodes are, and a container behind it that is the outside.
#   bridging-router.sh up CLUSTER       makes what of it is missing; Nodes and router learn their routes. Again after a
#                                       Node was restarted or got its podCIDRs
#   bridging-router.sh down CLUSTER     takes it away
#   bridging-router.sh ranges           the ranges for Pods in each VLAN, as JSON
# It needs neither VLAN devices of the kernel nor any rule or setting of the machine.
. "$(dirname "$0")/../lib.sh"
IMAGE=antrea/antrea-agent:dev
OUTSIDE_IP4=10.214.0 OUTSIDE_IP6=fd00:214:

action=$1
cluster=${2:-}
router=$cluster-vlan-router
outside=$cluster-vlan-outside

# leg VLAN: sets ip4 and ip6 to the router's addresses there, and length4, first4, last4, first6, last6 to what Pods get.
# Of VLAN 0, the subnet of the Nodes, these are at the upper end: docker gives out the lower end first.
leg() {
    local subnet4 subnet6 last
    if [ "$1" != 0 ]; then
        ip4=10.21$1.0.1 length4=24 first4=10.21$1.0.10 last4=10.21$1.0.99
        ip6=fd00:21$1::1 first6=fd00:21$1::10 last6=fd00:21$1::99
        return
    fi
    read -r subnet4 subnet6 < <(docker network inspect kind |
        jq -r '[.[0].IPAM.Config[].Subnet] | sort_by(contains(":")) | join(" ")')
    length4=${subnet4#*/}
    last=$(($(number "${subnet4%/*}") + (1 << (32 - length4)) - 1))
    ip4=$(dotted $((last - 62))) first4=$(dotted $((last - 60))) last4=$(dotted $((last - 11)))
    ip6=${subnet6%/*}b:1 first6=${subnet6%/*}b:10 last6=${subnet6%/*}b:99
}
number() {
    local a b c d
    IFS=. read -r a b c d <<<"$1"
    echo $(((a << 24) + (b << 16) + (c << 8) + d))
}
dotted() { echo "$(($1 >> 24 & 255)).$(($1 >> 16 & 255)).$(($1 >> 8 & 255)).$(($1 & 255))"; }

ranges() {
    local vlan
    for vlan in 0 2 3; do
        leg "$vlan"
        printf '%s\n' "$vlan 4 $first4 $last4 $ip4 $length4" "$vlan 6 $first6 $last6 $ip6 64"
    done | jq -nR '[inputs | split(" ") | {vlan: (.[0] | tonumber), ipVersion: (.[1] | tonumber), start: .[2], end: .[3],
        gateway: .[4], prefixLength: (.[5] | tonumber)}]'
}

nodes() { docker ps --filter "label=io.x-k8s.kind.cluster=$cluster" --format '{{.Names}}'; }
kubectl() { command kubectl --kubeconfig "$(kubeconfig_of "$cluster")" --context "kind-$cluster" "$@"; }
# beside CONTAINER SCRIPT: runs a script in the network of a container, or of the machine (host)
beside() {
    docker run --rm --privileged --pid host --network "$1" --entrypoint sh "$TEST_IMAGE" -ec "$2"
}

start_router() {
    local vlan script
    docker rm --force "$router" "$outside" >/dev/null 2>&1 || true
    docker run --detach --name "$router" --privileged --network kind \
        --sysctl net.ipv4.ip_forward=1 --sysctl net.ipv6.conf.all.forwarding=1 --sysctl net.ipv6.conf.all.disable_ipv6=0 \
        --sysctl net.ipv4.conf.all.send_redirects=0 --sysctl net.ipv4.conf.default.send_redirects=0 \
        "$IMAGE" start-ovs
    for _ in $(seq 60); do
        ! docker exec "$router" start-ovs check 2>/dev/null || break
        sleep 0.5
    done
    # OVS reads copies of what comes in by eth0, so the router's own stack must not take the same
    script="
        sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1
        ip address flush dev eth0
        ethtool -K eth0 tx off gro off >/dev/null
        nft 'add table netdev underlay'
        nft 'add chain netdev underlay ingress { type filter hook ingress device eth0 priority 0; policy drop; }'
        ovs-vsctl --timeout=20 add-br underlay -- set bridge underlay datapath_type=netdev -- add-port underlay eth0"
    for vlan in 0 2 3; do
        leg "$vlan"
        script+="
        ovs-vsctl --timeout=20 add-port underlay vlan$vlan tag=$vlan -- set interface vlan$vlan type=internal
        ip link set vlan$vlan up
        ip address add $ip4/$length4 dev vlan$vlan
        ip address add $ip6/64 dev vlan$vlan nodad"
    done
    docker exec "$router" sh -ec "$script"
}

start_outside() {
    docker run --detach --name "$outside" --hostname outside --network none --cap-add NET_ADMIN \
        --sysctl net.ipv6.conf.all.disable_ipv6=0 "$TEST_IMAGE" netexec --http-port=8080 --udp-port=8081
    beside "container:$router" "
        ip link add outside type veth peer name eth0 netns $(docker inspect --format '{{.State.Pid}}' "$outside")
        ip link set outside up
        ip address add $OUTSIDE_IP4.1/24 dev outside
        ip address add $OUTSIDE_IP6:1/64 dev outside nodad"
    docker exec "$outside" sh -ec "
        ip link set eth0 up
        ip address add $OUTSIDE_IP4.2/24 dev eth0
        ip address add $OUTSIDE_IP6:2/64 dev eth0 nodad
        ip route add default via $OUTSIDE_IP4.1
        ip -6 route add default via $OUTSIDE_IP6:1"
}

# checksums on|off: whether the machine leaves checksums out of what it hands to the NICs, as one end of a veth pair may.
# What OVS reads in userspace must have them.
checksums() {
    local name links
    links=$(for name in $(nodes) "$router"; do
        # in bridging mode the NIC has the second name
        docker exec "$name" sh -c 'cat "/sys/class/net/eth0~/iflink" 2>/dev/null || cat /sys/class/net/eth0/iflink'
    done)
    beside host "
        for link in /sys/class/net/*; do
            case '$(tr '\n' ' ' <<<" $links")' in
                *\" \$(cat \$link/ifindex) \"*) ethtool -K \${link##*/} tx $1 >/dev/null ;;
            esac
        done"
}

# routes add|del: routes of the Nodes to the networks behind the router. They are on the NIC's subnet, so they move with it.
routes() {
    local node vlan via4 via6 script=''
    leg 0
    via4=$ip4 via6=$ip6
    for vlan in 2 3; do
        leg "$vlan"
        script+="route ${ip4%.*}.0/$length4 $via4; route ${ip6%1}/64 $via6; "
    done
    script+="route $OUTSIDE_IP4.0/24 $via4; route $OUTSIDE_IP6:/64 $via6"
    case $1 in
        add) script="route() { ip route replace \$1 via \$2; }; $script" ;;
        del) script="route() { ip route del \$1 via \$2 2>/dev/null || true; }; $script" ;;
    esac
    for node in $(nodes); do docker exec "$node" sh -ec "$script"; done
}

# the router's routes to the podCIDRs of the Nodes
routes_to_nodes() {
    kubectl get nodes --output json | jq -r '.items[]
        | [.status.addresses[] | select(.type == "InternalIP").address] as $nodes
        | .spec.podCIDRs[]? as $cidr | $nodes[] | select(contains(":") == ($cidr | contains(":")))
        | "ip route replace \($cidr) via \(.)"' | docker exec -i "$router" sh -e
}

stands() { docker exec "$outside" true 2>/dev/null && docker exec "$router" test -e /sys/class/net/outside 2>/dev/null; }
up() {
    if ! stands; then
        start_router
        start_outside
    fi
    checksums off
    routes add
    routes_to_nodes
}
down() {
    if [ -n "$(docker ps -q --filter "name=^$router\$")" ]; then
        routes del
        checksums on
    fi
    docker rm --force "$router" "$outside" 2>/dev/null || true
}

case $action in
    up) step "router with VLANs beside $cluster" up ;;
    down) QUIET_WHEN_INSTANT=1 step "no router with VLANs beside $cluster" down ;;
    ranges) ranges ;;
    *) fail "there is no action $action" "use up, down or ranges" ;;
esac
