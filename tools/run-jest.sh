#!/usr/bin/env bash
# run-jest.sh TIER PROJECT-FOLDER [JEST-OPTION...]: runs one tier of one project's tests and leaves the report of the
# runner in .reports/TIER-PROJECT.json, from which the summary line is made.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
tier=$1 project=$2
shift 2
name=$(node -p 'require(process.argv[1]).name.replace("@antrea/", "")' "$repo/$project/package.json")
mkdir -p "$repo/.reports"
report=$repo/.reports/$tier-$name.json
rm -f "$report"
export TIER=$tier PROJECT_ROOT=$repo/$project
export NODE_OPTIONS="--experimental-vm-modules --disable-warning=ExperimentalWarning ${NODE_OPTIONS:-}"
exec node "$repo/node_modules/jest/bin/jest.js" --config "$repo/jest.config.mjs" \
    --json --outputFile "$report" "$@" </dev/null
