#!/usr/bin/env bash
# Runs Kubernetes' own tests of Pod and Service networking against the cluster of KUBECONFIG. Which ones: see `choice`.
#   run.sh [NAME]      NAME: only the chosen tests whose name has this regular expression
# PROCESSES (default 8) run at once. Log and report stay in .reports/kubernetes. The last line is the sum.
. "$(dirname "$0")/../lib.sh"
HERE=$TOOLS/kubernetes-e2e
OUTPUT=$REPO/.reports/kubernetes
log=$OUTPUT/e2e.log
. "$HERE/choice"
[ -n "${KUBECONFIG:-}" ] || fail "KUBECONFIG is not set, so there is no cluster to test" "set it to the kubeconfig of the cluster"
[ -x "$KUBERNETES_BIN/e2e.test" ] || fail "e2e.test is not there" "run tools/cluster/build-programs.sh e2e.test"
rm -rf "$OUTPUT"
mkdir -p "$OUTPUT"
left_out=$OUTPUT/left-out.txt
cp "$HERE/left-out.txt" "$left_out"
if [ -z "$(kubectl -n kube-system get daemonset kube-proxy --ignore-not-found -o name)" ]; then
    SKIP+="|$OF_KUBE_PROXY"
    printf '\n' | cat - "$HERE/left-out-without-kube-proxy.txt" >>"$left_out"
fi

# list NAME FOCUS: the tests that would run, in NAME.json
list() {
    "$KUBERNETES_BIN/e2e.test" --kubeconfig "$KUBECONFIG" --provider local --ginkgo.dry-run --ginkgo.focus "$2" \
        --ginkgo.skip "$SKIP" --ginkgo.silence-skips --ginkgo.json-report "$OUTPUT/$1.json" >"$OUTPUT/$1.log" 2>&1 ||
        fail "e2e.test could not list its tests" "read $OUTPUT/$1.log"
}
# A list that does not fit fails now, not after the run.
focus=$FOCUS${1:+.*$1}
list choice "$FOCUS"
[ -z "${1:-}" ] || list requested "$focus"
node "$HERE/report.ts" "$OUTPUT/choice.json" "$left_out" --choice ${1:+"$OUTPUT/requested.json"}

# Ginkgo prints a dot for a test that passed, and dot, mark and name for one that failed.
finished() { { grep -ao '•' "$log" || true; } | wc -l; }
asked_for() { sed -nE '0,/Will run/s/.*Will run ([0-9]+) of .*/\1/p' "$log"; }
failures() { grep -aA1 '^• \[' "$log" | sed -nE 's/^(\[sig-.*) \[sig-[^]]*\]$/\1/p'; }

# watch PID: a line every quarter of a minute, and one for each test that failed
watch() {
    local start shown=0 next=15 elapsed names name
    start=$EPOCHSECONDS
    while kill -0 "$1" 2>/dev/null; do
        sleep 5
        mapfile -t names < <(failures)
        for name in "${names[@]:$shown}"; do say "failed: $name"; done
        shown=${#names[@]}
        elapsed=$((EPOCHSECONDS - start))
        if [ "$elapsed" -ge "$next" ]; then
            next=$((elapsed + 15))
            printf '  … %d tests of %s, %d failed, %ds\n' "$(finished)" "$(asked_for)" "$shown" "$elapsed" >&2
        fi
    done
}

# e2e.test counts the Nodes that Pods may go to only for providers that it knows
nodes=$(kubectl get nodes -o json | jq '[.items[] | select(all(.spec.taints[]?; .effect != "NoSchedule"))] | length')
# the seed: the same order each time, one in which of all chosen tests the longest do not come last
"$KUBERNETES_BIN/ginkgo" --procs "${PROCESSES:-8}" --seed 34 --no-color --silence-skips --timeout 60m --output-dir "$OUTPUT" \
    --json-report report.json --focus "$focus" --skip "$SKIP" "$KUBERNETES_BIN/e2e.test" -- \
    --kubeconfig "$KUBECONFIG" --provider local --num-nodes "$nodes" --disable-log-dump >"$log" 2>&1 </dev/null &
pid=$!
# an end that is asked for lets the running tests remove what they made
trap 'kill -TERM "$pid" 2>/dev/null || true' EXIT INT TERM
watch "$pid"
wait "$pid" || true
trap - EXIT INT TERM
[ -s "$OUTPUT/report.json" ] || {
    tail -n 25 "$log" | sed 's/^/    | /' >&2
    fail "the tests ended without a report" "read $log"
}
node "$HERE/report.ts" "$OUTPUT/report.json" "$left_out" ${1:+--part}
