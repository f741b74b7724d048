#!/usr/bin/env bash
# run-jest.sh TIER PROJECT-FOLDER [JEST-OPTION...]: runs one tier of one project's tests and leaves the report of the
# runner in .reports/TIER-PROJECT.json (PROJECT is the name of its package, as Nx calls it), from which tools/test.sh
# makes the summary line.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
tier=$1 project=$2
shift 2
name=$(node -p 'require(process.argv[1]).name' "$repo/$project/package.json")
report=$repo/.reports/$tier-$name.json
mkdir -p "$(dirname "$report")"
rm -f "$report"
export TIER=$tier PROJECT_ROOT=$repo/$project
export NODE_OPTIONS="--experimental-vm-modules --disable-warning=ExperimentalWarning ${NODE_OPTIONS:-}"
# A test that leaves something open keeps jest from ending; that is a failure, not a reason to wait for ever. A busy machine
# is no failure: the limits are several times what a tier of the largest project takes.
case $tier in
    unit) limit=1500 ;;
    integration) limit=3600 ;;
    *) limit=9000 ;;
esac
exec timeout --kill-after=10 "$limit" node "$repo/node_modules/jest/bin/jest.js" --config "$repo/jest.config.mjs" \
    --json --outputFile "$report" "$@" </dev/null
