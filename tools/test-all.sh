#!/usr/bin/env bash
# Everything of `make test`, and the suites that take long. Each part runs whether or not one before it failed. At the end stand
# the time and the result of each and one summary line, in which a part that counts no tests counts as one.
#   test-all.sh [PART...]     PART: test e2e-matrix kubernetes kubernetes-beside repeat mutate fuzz simulate upgrade chaos-overlay
#                             chaos-bridging chaos-networks chaos-services (default: all)
#   REPEAT=3                  how often all unit tests run anew
#   SAMPLE=100                how many mutants of each area are judged
#   FUZZ_SECONDS=600          for all targets together
#   SEEDS=10000               histories of the simulation
#   MINUTES=30                of each run of faults on a cluster
#   WRITE=1                   writes the table, with commit and date, into docs/testing.md
. "$(dirname "$0")/lib.sh"
cd "$REPO"
export NO_COLOR=1 FORCE_COLOR=0
all=(test e2e-matrix kubernetes kubernetes-beside repeat mutate fuzz simulate upgrade chaos-overlay chaos-bridging chaos-networks chaos-services)
[ $# -gt 0 ] || set -- "${all[@]}"
for part in "$@"; do
    [[ " ${all[*]} " == *" $part "* ]] || fail "there is no part '$part'" "choose of: ${all[*]}"
done
# what the parts write about themselves is written by their own make targets
write=${WRITE:-}
unset WRITE BRIDGING NETWORKS PROXYALL KEEP REUSE KUBE_PROXY
commit=$(git rev-parse --short HEAD)
[ -z "$(git status --porcelain)" ] || commit+=', changed'
rows='' lines='' total_passed=0 total_failed=0

part_test() { "$TOOLS/test.sh"; }
# every mode in full, and the long suites
part_e2e-matrix() { "$TOOLS/cluster/build-programs.sh" && "$TOOLS/build.sh" && "$TOOLS/e2e.sh" /e2e/matrix/; }
# all of Kubernetes' own tests that are chosen, of which `make test` has those of conformance
part_kubernetes() { "$TOOLS/cluster/build-programs.sh" && "$TOOLS/build.sh" && "$TOOLS/e2e.sh" --kubernetes; }
# those of Services with kube-proxy beside AntreaProxy, and those of kube-proxy itself
part_kubernetes-beside() {
    "$TOOLS/cluster/build-programs.sh" && "$TOOLS/build.sh" &&
        KUBE_PROXY=iptables "$TOOLS/e2e.sh" --kubernetes '(Services |EndpointSlice|Granular Checks|KubeProxy|kube-proxy urls)'
}
# property tests draw other inputs each time
part_repeat() {
    local turn rc=0
    for turn in $(seq "${REPEAT:-3}"); do
        say "unit tests, turn $turn"
        npx --no-install nx run-many -t test --skip-nx-cache --outputStyle=static || rc=1
    done
    return "$rc"
}
part_mutate() { node "$TOOLS/mutate/main.ts" --all --sample "${SAMPLE:-100}" --minutes 90; }
part_fuzz() { FUZZ_SECONDS=${FUZZ_SECONDS:-600} "$TOOLS/fuzz/run.sh"; }
part_simulate() { node "$TOOLS/simulate/main.ts" --seeds "${SEEDS:-10000}" --steps 1000; }
part_upgrade() { "$TOOLS/upgrade.sh"; }
part_chaos-overlay() { MINUTES=${MINUTES:-30} "$TOOLS/chaos.sh"; }
part_chaos-bridging() { BRIDGING=1 MINUTES=${MINUTES:-30} "$TOOLS/chaos.sh"; }
part_chaos-networks() { NETWORKS=1 MINUTES=${MINUTES:-30} "$TOOLS/chaos.sh"; }
part_chaos-services() { PROXYALL=1 MINUTES=${MINUTES:-30} "$TOOLS/chaos.sh"; }

# counts PART LOG: "passed failed" as the log has them, nothing when it counts none.
counts() {
    case $1 in
        test | kubernetes*) sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$2" | tail -n 1 ;;
        repeat | e2e-matrix)
            awk '/^ *Tests: / { for (i = 3; i <= NF; i++) { if ($i ~ /^passed/) passed += $(i - 1); if ($i ~ /^failed/) failed += $(i - 1) } }
                END { if (NR > 0 && passed + failed > 0) print passed + 0, failed + 0 }' "$2"
            ;;
        simulate) sed -nE 's/^([0-9]+) seeds, ([0-9]+) failed;.*/\1 \2/p' "$2" | awk 'END { if (NR > 0) print $1 - $2, $2 }' ;;
    esac
}

# note PART LOG: the text of the table beside the numbers.
note() {
    case $1 in
        mutate) awk -F '|' '/^\| .* % \|$/ { judged += $4; caught += $5 + $6 } END { if (judged > 0) printf "%.1f %% of %d mutants caught", 100 * caught / judged, judged }' "$2" ;;
        fuzz) echo "${FUZZ_SECONDS:-600} s" ;;
        kubernetes) echo "without kube-proxy" ;;
        kubernetes-beside) echo "beside kube-proxy" ;;
        repeat) echo "unit tests ${REPEAT:-3} times" ;;
        simulate) sed -nE 's/.* steps in .*; (.* hours of virtual time)$/\1/p' "$2" | tail -n 1 ;;
        chaos-*) echo "${MINUTES:-30} minutes" ;;
    esac
}

# run_part PART
run_part() {
    local start rc=0 took sums passed=0 failed=0 log=$LOGS/all-$1.log
    start=$(date +%s)
    # step ends its shell when the part fails, of which it shows more
    # shellcheck disable=SC2034
    (STEP_TAIL=60 && step "all-$1" "part_$1") || rc=$?
    took=$(($(date +%s) - start))
    sums=$(counts "$1" "$log")
    [ -z "$sums" ] || passed=${sums% *} failed=${sums#* }
    if [ "$rc" != 0 ]; then
        [ "$failed" -gt 0 ] || failed=1
    elif [ -z "$sums" ]; then
        # a part whose tests are counted has found none
        case $1 in
            test | kubernetes* | repeat | e2e-matrix | simulate) failed=1 ;;
            *) passed=1 ;;
        esac
    fi
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
    lines+=$(printf '  %-17s %6ss  %6d passed  %4d failed  %s' "$1" "$took" "$passed" "$failed" "$(note "$1" "$log")")$'\n'
    rows+=$(printf '%s\t%d min %02d s\t%d\t%d\t%s\t%s, %s' "$1" $((took / 60)) $((took % 60)) "$passed" "$failed" \
        "$(note "$1" "$log")" "$commit" "$(date -u +%F)")$'\n'
}

"$TOOLS/setup/bootstrap.sh"
for part in "$@"; do run_part "$part"; done
if [ -n "$write" ]; then
    printf '%s' "$rows" | node "$TOOLS/testing-page/main.ts" results Part Time Passed Failed Of 'Commit, date'
fi
printf '\n%s\n%d passed, %d failed\n' "$lines" "$total_passed" "$total_failed"
[ "$total_failed" = 0 ]
