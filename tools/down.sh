#!/usr/bin/env bash
# Removes the clusters of `make up` and `make test`, and ends the Docker engine if it is ours and has nothing to do.
. "$(dirname "$0")/lib.sh"
for name in "$CLUSTER" "$TEST_CLUSTER"; do
    "$TOOLS/cluster/delete.sh" "$name"
    rm -f "$CACHE/cluster-$name.inputs"
done
if timeout 20 docker version >/dev/null 2>&1 && [ -z "$(docker ps -q)" ]; then
    "$TOOLS/cluster/stop-docker.sh"
fi
say "no cluster of ours is left"
