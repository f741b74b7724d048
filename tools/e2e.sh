#!/usr/bin/env bash
# Runs the e2e suites on a cluster of their own, made fresh and removed after (KEEP=1 keeps it, REUSE=1 takes one that
# was kept).
#   e2e.sh [SUITE-PATTERN...]     default: those of e2e/suites; make test-all runs those of e2e/matrix too
#   e2e.sh --kubernetes [NAME]     Kubernetes' own tests instead (see tools/kubernetes-e2e/run.sh), without kube-proxy
#   e2e.sh --prepare               only makes the cluster, for a run with REUSE=1
#   KUBE_PROXY=iptables            with kube-proxy, as the suites have it; none: without
# On failure the state of the cluster is saved in a folder that the output names.
. "$(dirname "$0")/lib.sh"
cluster=antrea-e2e
export E2E_CLUSTER=$cluster E2E_CHART=$REPO/charts/antrea KUBECONFIG
# what a meta plugin would call
export E2E_MACVLAN=$CNI_PLUGINS_BIN/macvlan E2E_LIBCNI=$LIBCNI_BIN/libcni
KUBECONFIG=$(kubeconfig_of "$cluster")

# there AntreaProxy does all of its work
[ "${1:-}" != --kubernetes ] || export KUBE_PROXY=${KUBE_PROXY:-none}
if [ -z "${REUSE:-}" ]; then
    "$TOOLS/cluster/create.sh" "$cluster"
fi
"$TOOLS/images/load.sh" "$cluster"
# what could not be installed stays, to be inspected
"$TOOLS/cluster/install-chart.sh" "$cluster" || KEEP=1 exec "$TOOLS/cluster/leave.sh" "$cluster" 1
[ "${1:-}" != --prepare ] || exit 0
run_suites() {
    [ $# -gt 0 ] || set -- /e2e/suites/
    # e2e/runner.mjs decides which of them run beside each other
    "$TOOLS/run-jest.sh" e2e e2e --reporters=default --reporters="$REPO/e2e/matrix-reporter.mjs" --testTimeout 600000 \
        "$@"
}

result=0
if [ "${1:-}" = --kubernetes ]; then
    "$TOOLS/kubernetes-e2e/on-cluster.sh" "$cluster" "${@:2}" || result=$?
else
    run_suites "$@" || result=$?
fi
exec "$TOOLS/cluster/leave.sh" "$cluster" "$result"
