#!/usr/bin/env bash
# Shows addresses from a pool: which Pods have which, that a Pod of a StatefulSet keeps its address, that a pool which
# overlaps another is refused, and what kubectl and antctl show. Fails if one of these fails.
. "$(dirname "$0")/../lib.sh"
cd "$REPO"
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$CLUSTER")
kubectl() { command kubectl --context "kind-$CLUSTER" "$@"; }
antctl() { apps/antctl/dist/antctl --context "kind-$CLUSTER" "$@"; }
demo() { kubectl --namespace antrea-demo "$@"; }
# show COMMAND...: the command as a person would type it, and what it prints
show() {
    printf '$ %s\n' "$*"
    "$@" || return
    echo
}

# one line a Pod: name, Node, address
pods() {
    demo get pods --selector 'app in (pool-pod, pool-set)' --sort-by=.metadata.name --output json |
        jq -r '.items[] | select(.metadata.deletionTimestamp == null) | [.metadata.name, .spec.nodeName, .status.podIPs[0].ip] | @tsv'
}
table() { column -t -s $'\t'; }
# without the Nodes, which may change
addresses() { pods | cut -f 1,3; }

echo 'Pods with addresses of IPPool demo-pool:'
before=$(addresses)
(printf 'POD\tNODE\tADDRESS\n' && pods) | table
echo
echo 'A Pod of a StatefulSet keeps its address: pool-set-1 is deleted and made again.'
demo delete pod pool-set-1 --wait >/dev/null
demo rollout status statefulset/pool-set --timeout=120s >/dev/null
after=$(addresses)
grep pool-set-1 <<<"$after" | table
[ "$after" = "$before" ] || fail "the Pods had other addresses before: $before" "kubectl --context kind-$CLUSTER get ipallocations"
echo

echo 'A pool that has addresses of another is refused:'
if refusal=$(show kubectl apply -f tools/demo/overlapping-pool.yaml 2>&1); then
    kubectl delete -f tools/demo/overlapping-pool.yaml >/dev/null
    fail "the pool was accepted" "kubectl --context kind-$CLUSTER -n kube-system logs deployment/antrea-webhook"
fi
printf '%s\n\n' "$refusal"
case $refusal in
    *demo-pool*10.88.0.24*) ;;
    *) fail "the refusal does not say what overlaps" "kubectl --context kind-$CLUSTER -n kube-system logs deployment/antrea-webhook" ;;
esac

show kubectl get ippool,ipallocation
show antctl ipam show
