#!/bin/bash
# runc for a machine that has given up capabilities for good: takes those listed in the file beside it ($0.missing, a
# JSON list) out of what a container (config.json of the bundle) or a process in one (--process FILE) asks for.
set -euo pipefail
bundle='' process='' previous=''
for argument in "$@"; do
    case $previous in
        --bundle | -b) bundle=$argument ;;
        --process | -p) process=$argument ;;
    esac
    case $argument in
        --bundle=*) bundle=${argument#*=} ;;
        --process=*) process=${argument#*=} ;;
    esac
    previous=$argument
done
# reduce FILE PATH-OF-CAPABILITIES
reduce() {
    local new
    [ -f "$1" ] || return 0
    new=$(mktemp "$1.XXXXXX")
    jq -c --slurpfile missing "$0.missing" \
        "if $2 == null then . else $2 |= with_entries(.value -= \$missing[0]) end" "$1" >"$new"
    mv "$new" "$1"
}
[ -z "$bundle" ] || reduce "$bundle/config.json" .process.capabilities
[ -z "$process" ] || reduce "$process" .capabilities
exec /usr/sbin/runc "$@"
