#!/usr/bin/env bash
# Copies programs out of a root into another one with every shared library they load, so that they run there.
#   pick-programs.sh FROM-ROOT TO-ROOT /PATH/OF/PROGRAM...
set -euo pipefail
from=$1 to=$2
shift 2
wanted=$(
    printf '%s\n' "$@"
    # a static program has no libraries; ldd reports it by failing
    for program in "$@"; do
        { chroot "$from" ldd "$program" 2>/dev/null || true; } | grep -oE '/[^ ]+\.so[^ ]*' || true
    done
)
mkdir -p "$to"
# links are followed: a library comes under the name it is asked for
printf '%s\n' "$wanted" | sort -u | sed 's#^/##' |
    tar --create --dereference --hard-dereference --directory "$from" --files-from - | tar --extract --directory "$to"
