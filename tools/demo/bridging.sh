#!/usr/bin/env bash
# Shows bridging mode: starts Pods in three VLANs and on the Nodes' subnets, prints who reaches whom, and what a ping from
# one VLAN to another looks like on the wire. Fails if anything does not get through.
. "$(dirname "$0")/../lib.sh"
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$CLUSTER")
kubectl() { command kubectl --context "kind-$CLUSTER" "$@"; }
demo() { kubectl --namespace antrea-demo-bridging "$@"; }
kinds=(subnet vlan0 vlan2 vlan3)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

start() {
    local kind
    "$TOOLS/demo/bridging-router.sh" ranges |
        jq '{apiVersion: "v1", kind: "List", items: [.[] | {
            apiVersion: "crd.antrea.io/v1alpha2", kind: "IPPool", metadata: {name: "vlan\(.vlan)-ipv\(.ipVersion)"},
            spec: {ipVersion, ipRanges: [del(.ipVersion)]}}]}' | kubectl apply -f -
    kubectl apply -f "$TOOLS/demo/bridging-pods.yaml"
    for kind in "${kinds[@]}"; do demo rollout status "daemonset/$kind" --timeout=180s; done
}

# one line a Pod: kind, Node, name, IPv4, IPv6
pods() {
    demo get pods --sort-by=.metadata.name --output json | jq -r '.items | sort_by(.metadata.labels.app, .spec.nodeName)[]
        | select(.metadata.deletionTimestamp == null) | [.metadata.labels.app, .spec.nodeName, .metadata.name,
            (.status.podIPs[].ip | select(contains(":") | not)), (.status.podIPs[].ip | select(contains(":")))] | @tsv'
}

# What a Pod runs: of each line of its input, two addresses, it writes ok if it reaches both by ICMP and TCP.
# shellcheck disable=SC2016  # for the shell in the Pod
probes='
reach() { ping -c 1 -W 2 "$1" && curl -fsS -m 2 "http://$2:8080/hostname"; }
while read -r ip4 ip6; do
    result=no
    for try in 1 2 3 4 5; do
        if (reach "$ip4" "$ip4" && reach "$ip6" "[$ip6]") >/dev/null 2>&1; then result=ok; break; fi
        sleep 1
    done
    printf "\t%s" "$result"
done
result=no
for try in 1 2 3 4 5; do
    if (curl -4 -fsS -m 2 http://server/hostname && curl -6 -fsS -m 2 http://server/hostname) >/dev/null 2>&1; then
        result=ok
        break
    fi
    sleep 1
done
printf "\t%s\n" "$result"'

# who reaches whom: a row for each Pod, a column for each Pod, for the outside and for the Service
matrix() {
    local kind node name
    {
        printf 'FROM'
        while IFS=$'\t' read -r kind node _; do printf '\t%s %s' "$kind" "${node##*-}"; done <"$work/pods"
        printf '\toutside\tService\n'
        while IFS=$'\t' read -r kind node name _; do
            printf '%s %s' "$kind" "${node##*-}"
            {
                cut -f 4,5 "$work/pods"
                printf '10.214.0.2\tfd00:214::2\n'
            } | demo exec --stdin "$name" -- sh -c "$probes" || echo
        done <"$work/pods"
    } >"$work/table"
    column -t -s $'\t' "$work/table"
}

# a ping between two VLANs, as the router sees it
on_the_wire() {
    local from to
    from=$(awk '$1 == "vlan2" { print $3; exit }' "$work/pods")
    to=$(awk '$1 == "vlan3" { print $4; exit }' "$work/pods")
    docker run --rm --network "container:$CLUSTER-vlan-router" --cap-add NET_ADMIN --entrypoint sh "$TEST_IMAGE" -c \
        "echo root:x:0:0::/:/bin/sh >/etc/passwd
        exec timeout 10 tcpdump -Z root -i eth0 -e -nn -t -l -c 4 'icmp or (vlan and icmp)'" 2>/dev/null &
    sleep 2
    demo exec "$from" -- ping -c 2 -W 2 "$to" >/dev/null
    wait $! || true
}

step "demo Pods in VLANs" start
pods >"$work/pods"
(printf 'KIND\tNODE\tPOD\tIPV4\tIPV6\n' && cat "$work/pods") | column -t -s $'\t'
printf '\nWho reaches whom, by ICMP and TCP, over IPv4 and IPv6:\n'
matrix
printf '\nA ping from VLAN 2 to VLAN 3 on the wire, to the router and from it:\n'
on_the_wire
if [ "$(awk -F '\t' '$NF == "ok"' "$work/table" | wc -l)" != "$(wc -l <"$work/pods")" ] || grep -qP '\tno(\t|$)' "$work/table"; then
    fail "not everything is reached (no)" "kubectl --context kind-$CLUSTER -n kube-system logs daemonset/antrea-agent"
fi
