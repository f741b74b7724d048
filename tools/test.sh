#!/usr/bin/env bash
# Runs every suite, one failing or not, prints the time and the result of each, and one summary line at the end, which
# counts what the runners reported: the tests of jest, and a lint, typecheck or build of a project as one check each.
#   test.sh [SUITE...]      SUITE: build lint unit integration setup e2e kubernetes (default: all)
#   KEEP=1                  keeps the cluster of the last suite that has one
. "$(dirname "$0")/lib.sh"
cd "$REPO"
REPORTS=$REPO/.reports
export NO_COLOR=1 FORCE_COLOR=0
total_passed=0 total_failed=0 lines='' reuse='' later='' crashed=''
[ $# -gt 0 ] || set -- build lint unit integration setup e2e kubernetes

nx() { npx --no-install nx run-many --outputStyle=static "$@"; }

# The tasks of Nx that a log names as failed.
failed_tasks() { sed -n '/^Failed tasks:/,$p' "$1" | sed -nE 's/^- (.+:.+)$/\1/p'; }

# add_nx LOG: every task is one check.
add_nx() {
    local all failed
    all=$(grep -cE '^> nx run ' "$1" || true)
    failed=$(failed_tasks "$1" | wc -l)
    passed=$((passed + all - failed)) bad=$((bad + failed))
}

# add_reports PREFIX: what the jest reports of that name say; a file of tests that did not load is one failure.
add_reports() {
    local file sums
    while IFS= read -r file; do
        sums=$(jq -r '"\(.numPassedTests) \(.numFailedTests + (.numRuntimeErrorTestSuites // 0))"' "$file") || sums='0 1'
        passed=$((passed + ${sums% *})) bad=$((bad + ${sums#* }))
    done < <(find "$REPORTS" -path "$REPORTS/$1*.json" ! -path "$REPORTS/e2e-state-*" | sort)
}

# failed_tests: of the reports of this run, each test that failed or file that did not load, with its first words.
failed_tests() {
    find "$REPORTS" -name '*.json' ! -path "$REPORTS/e2e-state-*" | sort | while IFS= read -r file; do
        jq -r --arg report "$(basename "$file" .json)" '
            def words: gsub("\u001b\\[[0-9;]*m"; "") | split("\n") | map(select(test("\\S"))) | .[0:3] | join(" ")[0:300];
            objects | .testResults[]? | (.name // "" | split("/") | .[-1]) as $name
            | (.assertionResults[]? | select(.status == "failed")
                | "  \($report) \($name): \(.fullName): \(.failureMessages[0] // "" | words)"),
              (select((.assertionResults // []) == [] and .status == "failed") | "  \($report) \($name): \(.message | words)")
        ' "$file" 2>/dev/null || echo "  $file cannot be read"
    done
}

# add_crashed LOG TIER: a runner that failed without a report, or with one that knows of no failure, is one failure.
add_crashed() {
    local task file
    for task in $(failed_tasks "$1"); do
        file=$REPORTS/$2-${task%:*}.json
        if ! jq -e '.numFailedTests + (.numRuntimeErrorTestSuites // 0) > 0' "$file" >/dev/null 2>&1; then
            bad=$((bad + 1))
            crashed+="  $task ended without naming a test that failed: its output is above, and in $1"$'\n'
        fi
    done
}

# show_failure LOG: of an Nx log the output of the failed tasks only, else its end.
show_failure() {
    local task
    if [ -n "$(failed_tasks "$1")" ]; then
        for task in $(failed_tasks "$1"); do
            awk -v task="> nx run $task" 'index($0, "> nx run ") == 1 { on = $0 == task || index($0, task " ") == 1 } / NX  / { on = 0 } on' "$1" |
                tail -n 150
        done
    else
        tail -n 150 "$1"
    fi | sed 's/^/    | /'
}

# run_step LABEL COMMAND...: part of a suite; its log becomes part of the suite's.
run_step() {
    local label=$1 rc=0
    shift
    rm -f "$LOGS/$label.log"
    # of a failure the suite shows more
    # shellcheck disable=SC2034
    (STEP_TAIL=0 && step "$label" "$@") || rc=$?
    cat "$LOGS/$label.log" >>"$log"
    return "$rc"
}

# What each suite does. They set passed and bad, and return non-zero if anything went wrong.
suite_build() {
    run_step test-build nx -t build || rc=1
    add_nx "$LOGS/test-build.log"
}
check_format() { npx --no-install prettier --check --ignore-unknown .; }
# errexit, which lib.sh turns on, ends a script whose cd fails
check_shell() {
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        [ ! -f "$file" ] || ! head -n 1 "$file" | grep -qE '^#!.*(/|env )(ba|da)?sh( |$)' || printf '%s\0' "$file"
    done | xargs -0 shellcheck --severity=warning --exclude=SC1091,SC2164
}
# portmap and bandwidth ship, and their modules are read from them
check_licences() { "$TOOLS/cluster/build-programs.sh" cni-plugins && "$TOOLS/security/audit" licences; }
check_weaknesses() { "$TOOLS/security/audit" weaknesses; }
suite_lint() {
    local check
    run_step test-lint nx -t lint typecheck || rc=1
    add_nx "$LOGS/test-lint.log"
    for check in format shell licences weaknesses; do
        if run_step "test-$check" "check_$check"; then
            # what could not be checked has neither passed nor failed
            if grep '^not checked: ' "$LOGS/test-$check.log"; then continue; fi
            passed=$((passed + 1))
        else
            rc=1 bad=$((bad + 1))
        fi
    done
}
suite_unit() {
    # of the CNI plugins that ship, the bill of materials is judged
    "$TOOLS/cluster/build-programs.sh" cni-plugins || rc=1
    run_step test-unit nx -t test || rc=1
    add_reports unit-
    add_crashed "$LOGS/test-unit.log" unit
}
suite_integration() {
    # real etcd and kube-apiserver, and the CNI plugins that are chained
    "$TOOLS/cluster/build-programs.sh" etcd kubernetes cni-plugins libcni || rc=1
    run_step test-integration nx -t integration --parallel=2 || rc=1
    add_reports integration-
    add_crashed "$LOGS/test-integration.log" integration
}
prepare_e2e() { "$TOOLS/cluster/build-programs.sh" && "$TOOLS/build.sh" && "$TOOLS/e2e.sh" --prepare; }
suite_setup() {
    local preparing=''
    # meanwhile, as it is mostly waited for; one that could not be made is made again by the suite that needs it
    if [[ "$later" == *" e2e "* ]]; then
        prepare_e2e >"$LOGS/test-prepare.log" 2>&1 </dev/null &
        preparing=$!
    fi
    run_step test-setup nx -t setup || rc=1
    if [ -n "$preparing" ] && wait "$preparing"; then reuse=1; fi
    add_reports setup-
}
suite_e2e() {
    if "$TOOLS/cluster/build-programs.sh" && "$TOOLS/build.sh"; then
        REUSE=$reuse run_step test-e2e "$TOOLS/e2e.sh" || rc=1
        # where it keeps the state of a cluster that failed
        grep 'saving the state' "$LOGS/test-e2e.log" || true
    else
        rc=1
    fi
    add_reports e2e-
}
# Kubernetes' own tests of conformance, counted in the report of their runner, on a cluster without kube-proxy; all of
# them, and those beside kube-proxy: test-all.sh.
suite_kubernetes() {
    local sums
    if "$TOOLS/cluster/build-programs.sh" && "$TOOLS/build.sh"; then
        REUSE='' run_step test-kubernetes "$TOOLS/e2e.sh" --kubernetes '\[Conformance\]' || rc=1
        grep -E 'saving the state|^[0-9]+ tests chosen' "$LOGS/test-kubernetes.log" || true
        sums=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$LOGS/test-kubernetes.log" | tail -n 1)
        [ -z "$sums" ] || passed=$((passed + ${sums% *})) bad=$((bad + ${sums#* }))
    else
        rc=1
    fi
}

# reused LOG: how many tasks of a log Nx took from its cache
reused() { grep -cE '^> nx run .*\[.*cache.*\]$' "$1" || true; }

# suite NAME
suite() {
    local name=$1 start passed=0 bad=0 rc=0 log=$LOGS/suite-$1.log took from_cache note=''
    say "suite $name"
    start=$(date +%s)
    : >"$log"
    "suite_$name" || rc=1
    # a failure that no report knows of
    if [ "$rc" != 0 ] && [ "$bad" = 0 ]; then
        bad=1
        crashed+="  suite $name failed without naming a test: its output is above, and in $log"$'\n'
    fi
    took=$(($(date +%s) - start))
    [ "$bad" = 0 ] || show_failure "$log"
    from_cache=$(reused "$log")
    [ "$from_cache" = 0 ] || note="  ($from_cache of $(grep -cE '^> nx run ' "$log") tasks from the cache of Nx)"
    lines+=$(printf '  %-12s %5ss  %5d passed  %5d failed%s' "$name" "$took" "$passed" "$bad" "$note")$'\n'
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + bad))
}

summary() {
    # at the end, where also a reader of the last lines finds them
    if [ "$total_failed" -gt 0 ] && [ -d "$REPORTS" ]; then failed_tests; fi
    printf '%s' "$crashed"
    printf '\n%s\n%d passed, %d failed\n' "$lines" "$total_passed" "$total_failed"
    [ "$total_failed" = 0 ] && [ "$total_passed" -gt 0 ]
}

# Two runs would share reports, logs and the e2e cluster.
exec 9>"$CACHE/test.lock"
flock --nonblock 9 || {
    say "another run of the tests is going on; waiting for its end"
    flock 9
}
if ! "$TOOLS/setup/bootstrap.sh"; then
    total_failed=1
    summary
    exit 1
fi
# the reports of this run only; those of unit tests that Nx need not repeat come back from its cache
find "$REPORTS" -mindepth 1 -maxdepth 1 ! -name 'e2e-state-*' -exec rm -rf {} + 2>/dev/null || true
mkdir -p "$REPORTS"
while [ $# -gt 0 ]; do
    later=" ${*:2} "
    suite "$1"
    shift
done
summary
