#!/usr/bin/env bash
# Prints the demo Pods with their Nodes and addresses, and who reaches whom. Fails if anything does not get through.
. "$(dirname "$0")/../lib.sh"
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$CLUSTER")
demo() { kubectl --context "kind-$CLUSTER" --namespace antrea-demo "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# one line a Pod: name, Node, IPv4, IPv6
pods() {
    demo get pods --selector "app=$1" --sort-by=.spec.nodeName --field-selector status.phase=Running --output json |
        jq -r '.items[] | select(.metadata.deletionTimestamp == null) | [.metadata.name, .spec.nodeName,
            (.status.podIPs[].ip | select(contains(":") | not)), (.status.podIPs[].ip | select(contains(":")))] | @tsv'
}

# What a client runs: each line of its input is a label, a kind and a target; each line of its output a label and
# yes or no. A target has a few seconds, as a Service may be younger than the table.
# shellcheck disable=SC2016  # for the shell in the Pod
probes='
attempt() {
    case $1 in
        icmp) ping -c 1 -W 1 "$2" ;;
        tcp4) curl -4 -fsS -m 2 "http://$2/hostname" ;;
        tcp6) curl -6 -fsS -m 2 "http://$2/hostname" ;;
    esac >/dev/null 2>&1
}
while read -r label kind target; do
    result=no
    for try in 1 2 3 4 5; do
        if attempt "$kind" "$target"; then result=yes; break; fi
        sleep 1
    done
    echo "$label $result"
done'

pods server >"$work/servers"
pods client >"$work/clients"
{
    printf 'POD\tNODE\tIPV4\tIPV6\n'
    cat "$work/clients" "$work/servers"
} | column -t -s $'\t'
echo

while IFS=$'\t' read -r client _; do
    {
        while IFS=$'\t' read -r server _ v4 v6; do
            printf '%s icmp %s\n%s icmp %s\n' "$server/icmp4" "$v4" "$server/icmp6" "$v6"
            printf '%s tcp4 %s:8080\n%s tcp6 [%s]:8080\n' "$server/tcp4" "$v4" "$server/tcp6" "$v6"
        done <"$work/servers"
        printf 'service/tcp4 tcp4 server\nservice/tcp6 tcp6 server.antrea-demo.svc.cluster.local\n'
    } | demo exec --stdin "$client" -- sh -c "$probes" >"$work/result-$client" || true
done <"$work/clients"

# result CLIENT LABEL
result() { awk -v label="$2" '$1 == label { found = $2 } END { print found ? found : "no" }' "$work/result-$1"; }
{
    printf 'FROM\tTO\tICMP IPv4\tICMP IPv6\tTCP IPv4\tTCP IPv6\n'
    while IFS=$'\t' read -r client from _; do
        while IFS=$'\t' read -r server to _; do
            printf '%s on %s\t%s on %s\t%s\t%s\t%s\t%s\n' "$client" "$from" "$server" "$to" \
                "$(result "$client" "$server/icmp4")" "$(result "$client" "$server/icmp6")" \
                "$(result "$client" "$server/tcp4")" "$(result "$client" "$server/tcp6")"
        done <"$work/servers"
        printf '%s on %s\tService server, by name\t-\t-\t%s\t%s\n' "$client" "$from" \
            "$(result "$client" service/tcp4)" "$(result "$client" service/tcp6)"
    done <"$work/clients"
} >"$work/table"
column -t -s $'\t' "$work/table"
if [ "$(wc -l <"$work/table")" -lt 2 ]; then fail "no demo Pod runs" "kubectl --context kind-$CLUSTER -n antrea-demo get pods"; fi
if grep -qP '\tno(\t|$)' "$work/table"; then
    fail "not everything is reached (no)" "kubectl --context kind-$CLUSTER -n kube-system logs daemonset/antrea-agent"
fi
