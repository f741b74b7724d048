#!/usr/bin/env bash
# Ends the Docker engine that start-docker.sh started, and no other.
. "$(dirname "$0")/../lib.sh"
file=$CACHE/docker/dockerd.pid
[ -s "$file" ] || exit 0
pid=$(cat "$file")
if [ "$(cat "/proc/$pid/comm" 2>/dev/null || true)" = dockerd ]; then
    kill "$pid"
    for _ in $(seq 60); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.5
    done
fi
rm -f "$file"
