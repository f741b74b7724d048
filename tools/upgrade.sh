#!/usr/bin/env bash
# Upgrades from each earlier release to this one and back by `helm rollback`, with Pods running, and reports what it cost them
# (docs/operations.md). The cluster is the one of the e2e suites, made afresh and removed after.
#   upgrade.sh [RELEASE...]     default: all in tools/upgrade/releases, in their order
#   WRITE=1                     writes docs/benchmarks/upgrade.md
#   KEEP=1                      keeps the cluster; REUSE=1 takes one that was kept and has one of the releases
. "$(dirname "$0")/lib.sh"
cluster=$TEST_CLUSTER
export E2E_CLUSTER=$cluster E2E_CHART=$REPO/charts/antrea KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$cluster")
cd "$REPO"
[ $# -gt 0 ] || mapfile -t all < <(awk '!/^#/ { print $1 }' "$TOOLS/upgrade/releases")
[ $# -gt 0 ] || set -- "${all[@]}"

"$TOOLS/cluster/build-programs.sh"
releases=()
for name in "$@"; do releases+=("$name=$("$TOOLS/upgrade/build-release.sh" "$name")"); done
"$TOOLS/build.sh"
[ -n "${REUSE:-}" ] || "$TOOLS/cluster/create.sh" "$cluster"
"$TOOLS/images/load.sh" "$cluster"
load_releases() {
    local node release
    for release in "${releases[@]}"; do
        for node in $("$KIND_BIN/kind" get nodes --name "$cluster"); do
            import_images "$node" "${release#*=}/images.tar"
        done
    done
}
step "images of ${#releases[@]} releases" load_releases

result=0
node e2e/upgrade/main.ts ${WRITE:+--write} "${releases[@]}" || result=$?
exec "$TOOLS/cluster/leave.sh" "$cluster" "$result"
