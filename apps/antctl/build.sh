#!/usr/bin/env bash
# Compiles antctl into one executable, dist/antctl.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
bun=$repo/node_modules/@oven/bun-linux-x64-baseline/bin/bun
if [ ! -x "$bun" ]; then
    echo "error: $bun is missing, which compiles antctl" >&2
    echo "  next: run 'npm ci' in $repo" >&2
    exit 1
fi
version=$(sed -n 's/^ *"version": *\("[^"]*"\).*/\1/p' "$repo/package.json")
mkdir -p "$here/dist"
cd "$here"
"$bun" build --compile --bytecode --minify --define ANTREA_VERSION="$version" src/main.ts --outfile dist/antctl
