# Sourced by every script under tools/: strict mode, versions, the cache, progress with elapsed time.
set -euo pipefail
set -E
TOOLS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(dirname "$TOOLS")
set -a
. "$TOOLS/versions.env"
set +a

# What is built or downloaded lives outside the checkout, in folders that carry their version.
CACHE=${ANTREA_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/antrea}
PROGRAMS=$CACHE/programs
LOGS=$CACHE/logs
mkdir -p "$PROGRAMS" "$LOGS"

# A variable of its own for each prefix: scripts say where a program is, PATH does not decide.
NODE_HOME=$CACHE/node-$NODE_VERSION
GO_HOME=$CACHE/go-$GO_VERSION
KUBERNETES_BIN=$PROGRAMS/kubernetes-$KUBERNETES_VERSION
ETCD_BIN=$PROGRAMS/etcd-$ETCD_VERSION
CONTAINERD_BIN=$PROGRAMS/containerd-$CONTAINERD_VERSION
CRI_TOOLS_BIN=$PROGRAMS/cri-tools-$CRI_TOOLS_VERSION
CNI_PLUGINS_BIN=$PROGRAMS/cni-plugins-$CNI_PLUGINS_VERSION
KIND_BIN=$PROGRAMS/kind-$KIND_VERSION
COREDNS_BIN=$PROGRAMS/coredns-$COREDNS_VERSION
PAUSE_BIN=$PROGRAMS/pause-1
HELM_BIN=$PROGRAMS/helm-$HELM_VERSION
export PATH=$NODE_HOME/bin:$GO_HOME/bin:$KUBERNETES_BIN:$KIND_BIN:$HELM_BIN:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

say() { printf '[%s] %s\n' "$(date +%H:%M:%S)" "$*" >&2; }
# fail MESSAGE NEXT-STEP: what is wrong and what to do about it.
fail() {
    printf '\nerror: %s\n' "$1" >&2
    [ -z "${2:-}" ] || printf '  next: %s\n' "$2" >&2
    exit 1
}

# step LABEL COMMAND...: runs the command with its output in a log file, shows the elapsed time while it runs
# (every second on a terminal, every half minute else), and the end of the log when it fails. The command runs in
# a shell of its own without "||" around it: errexit stays on inside it.
step() {
    local label=$1 log start pid rc=0 last=0 now
    shift
    log=$LOGS/$(echo "$label" | tr -cs 'a-zA-Z0-9.\n' '-').log
    start=$(date +%s)
    ("$@") >"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        now=$(($(date +%s) - start))
        if [ -t 2 ]; then
            printf '\r  … %s %ds ' "$label" "$now" >&2
        elif [ $((now - last)) -ge 30 ]; then
            last=$now
            printf '  … %s %ds\n' "$label" "$now" >&2
        fi
        sleep 0.2
    done
    wait "$pid" || rc=$?
    [ ! -t 2 ] || printf '\r\033[K' >&2
    now=$(($(date +%s) - start))
    if [ "$rc" -ne 0 ]; then
        printf '  ✗ %s (%ds)\n' "$label" "$now" >&2
        tail -n 25 "$log" | sed 's/^/    | /' >&2
        fail "'$label' failed with exit code $rc" "read $log"
    fi
    [ "$now" -lt 1 ] && [ -n "${QUIET_WHEN_INSTANT:-}" ] || printf '  ✓ %s (%ds)\n' "$label" "$now" >&2
}
