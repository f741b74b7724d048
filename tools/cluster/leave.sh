#!/usr/bin/env bash
# The end of a run on a cluster: saves its state if the run failed, removes it, or keeps it with KEEP=1.
#   leave.sh CLUSTER EXIT-CODE     exits with that code
. "$(dirname "$0")/../lib.sh"
cluster=$1 result=$2
if [ "$result" -ne 0 ]; then
    folder=$REPO/.reports/e2e-state-$(date +%H%M%S)
    say "saving the state of $cluster in $folder"
    "$TOOLS/cluster/save-state.sh" "$cluster" "$folder" || true
fi
if [ -n "${KEEP:-}" ]; then
    say "KEEP is set: cluster $cluster stays; KUBECONFIG=$(kubeconfig_of "$cluster")"
else
    "$TOOLS/cluster/delete.sh" "$cluster"
fi
exit "$result"
