#!/usr/bin/env bash
# Services without kube-proxy: who answers a Node at the ClusterIP, and this machine at the NodePort, while the Pods behind
# them are replaced one after the other. Fails if a request does.
. "$(dirname "$0")/../lib.sh"
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$CLUSTER")
demo() { kubectl --context "kind-$CLUSTER" --namespace antrea-demo "$@"; }
node=$CLUSTER-worker
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -z "${asking:-}" ] || kill "${asking[@]}" 2>/dev/null || true' EXIT

start() {
    demo apply -f "$TOOLS/demo/services.yaml"
    demo rollout status deployment/web --timeout=120s
}
QUIET_WHEN_INSTANT=1 step "a Deployment and its Service" start

# addresses JSONPATH OBJECT...: one IPv4, one IPv6
v4_of() { tr ' ' '\n' | grep -v : | head -n 1; }
v6_of() { tr ' ' '\n' | grep : | head -n 1; }
cluster_ips=$(demo get service web --output 'jsonpath={.spec.clusterIPs[*]}')
node_ips=$(demo get node "$node" --output 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}')
port=$(demo get service web --output 'jsonpath={.spec.ports[0].nodePort}')
# label, where to run, URL
printf '%s\t%s\t%s\n' \
    "$node, ClusterIP, IPv4" node "http://$(v4_of <<<"$cluster_ips")" \
    "$node, ClusterIP, IPv6" node "http://[$(v6_of <<<"$cluster_ips")]" \
    "this machine, NodePort, IPv4" here "http://$(v4_of <<<"$node_ips"):$port" \
    "this machine, NodePort, IPv6" here "http://[$(v6_of <<<"$node_ips")]:$port" >"$work/ways"

# ask URL: who answers on connections of their own, until there is a file of that name
# shellcheck disable=SC2016  # for the shell that runs it
ask='
for try in 1 2 3 4 5; do curl -fsS -m 2 -o /dev/null "$1/hostname" 2>/dev/null && break; sleep 1; done
n=0
while [ $((n += 1)) -le "$2" ]; do
    curl -sS -m 5 -H "Connection: close" -w "\n" "$1/hostname" 2>&1
    sleep 0.1
done'
asking=()
number=0
while IFS=$'\t' read -r _ where url; do
    number=$((number + 1))
    case $where in
        node) docker exec "$node" bash -c "$ask" ask "$url" 150 ;;
        here) bash -c "$ask" ask "$url" 150 ;;
    esac >"$work/answers-$number" </dev/null &
    asking+=($!)
done <"$work/ways"
sleep 2
update() {
    demo rollout restart deployment/web
    demo rollout status deployment/web --timeout=120s
}
step "a rolling update while they are asked" update
wait "${asking[@]}"
{
    printf 'FROM, BY\tREQUESTS\tFAILED\tPODS THAT ANSWERED\n'
    number=0
    while IFS=$'\t' read -r label _; do
        number=$((number + 1))
        answers=$work/answers-$number
        printf '%s\t%d\t%d\t%d\n' "$label" "$(wc -l <"$answers")" "$(grep -vc '^web-' "$answers" || true)" \
            "$(grep '^web-' "$answers" | sort -u | wc -l)"
    done <"$work/ways"
} >"$work/table"
echo
column -t -s $'\t' "$work/table"
if awk -F '\t' 'NR > 1 && ($3 > 0 || $4 < 3) { bad = 1 } END { exit !bad }' "$work/table"; then
    grep -hv '^web-' "$work"/answers-* | head -n 5 >&2 || true
    fail "not every request was answered" "kubectl --context kind-$CLUSTER -n kube-system logs daemonset/antrea-agent"
fi
