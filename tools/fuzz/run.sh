#!/usr/bin/env bash
# Fuzzes what takes bytes and texts of others, guided by coverage.
#   run.sh                    all targets, FUZZ_SECONDS (60) in all, seed SEED (1); tools/fuzz/main.ts --help has more
#   run.sh [OPTION...] [TARGET...]
#   run.sh TARGET FILE        runs one input again, such as a finding of .reports/fuzz
. "$(dirname "$0")/../lib.sh"
[ -d "$REPO/node_modules" ] || "$TOOLS/setup/bootstrap.sh"
if [ $# = 2 ] && [ -f "$2" ]; then
    set -- --replay "$1" "$(realpath "$2")"
else
    set -- --seconds "${FUZZ_SECONDS:-60}" --seed "${SEED:-1}" "$@"
fi
ANTREA_CACHE=$CACHE exec node "$TOOLS/fuzz/main.ts" "$@"
