#!/usr/bin/env bash
# Compiles the CNI plugin `antrea` into one executable, dist/antrea-cni.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
bun=$repo/node_modules/@oven/bun-linux-x64-baseline/bin/bun
if [ ! -x "$bun" ]; then
    echo "error: $bun is missing, which compiles the CNI plugin" >&2
    echo "  next: run 'npm ci' in $repo" >&2
    exit 1
fi
mkdir -p "$here/dist"
cd "$here"
# The bundle alone is what the size test looks at; the executable is that and the runtime.
"$bun" build --target=bun --minify src/main.ts --outfile dist/antrea-cni.js
"$bun" build --compile --bytecode --minify src/main.ts --outfile dist/antrea-cni
