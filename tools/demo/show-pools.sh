#!/usr/bin/env bash
# Shows addresses from a pool: who has which, that they stay with the Pods of a StatefulSet, and that a pool which
# overlaps another is refused. Fails if one of that is not so.
. "$(dirname "$0")/../lib.sh"
HERE=$TOOLS/demo
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$CLUSTER")
kubectl() { command kubectl --context "kind-$CLUSTER" "$@"; }
# show COMMAND...: the command as a person would type it, and what it prints
show() {
    printf '$ %s\n' "$*"
    "$@"
    echo
}
antctl() { "$REPO/apps/antctl/dist/antctl" --context "kind-$CLUSTER" "$@"; }

pods() {
    kubectl -n antrea-demo get pods --selector app=pool-set --sort-by=.metadata.name --output json |
        jq -r '.items[] | select(.metadata.deletionTimestamp == null) | [.metadata.name, .status.podIPs[0].ip] | @tsv'
}

before=$(pods)
printf 'A Pod of a StatefulSet keeps its address: pool-set-1 is deleted, and comes again.\n'
kubectl -n antrea-demo delete pod pool-set-1 --wait >/dev/null
kubectl -n antrea-demo rollout status statefulset/pool-set --timeout=120s >/dev/null
after=$(pods)
printf '%s\n\n' "$after" | column -t -s $'\t'
[ "$after" = "$before" ] || fail "the StatefulSet had other addresses before: $before" "kubectl --context kind-$CLUSTER get ipallocations"

printf 'A pool that has addresses of another is refused:\n'
printf '$ kubectl apply -f tools/demo/overlapping-pool.yaml\n'
if refusal=$(kubectl apply -f "$HERE/overlapping-pool.yaml" 2>&1); then
    kubectl delete -f "$HERE/overlapping-pool.yaml" >/dev/null
    fail "the pool was accepted" "kubectl --context kind-$CLUSTER -n kube-system logs deployment/antrea-webhook"
fi
printf '%s\n\n' "$refusal"
case $refusal in
    *demo-pool*10.88.0.24*) ;;
    *) fail "the refusal does not tell with whom it overlaps" "kubectl --context kind-$CLUSTER -n kube-system logs deployment/antrea-webhook" ;;
esac

show kubectl get ippool,ipallocation
show antctl ipam show
