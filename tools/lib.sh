# shellcheck shell=bash disable=SC2034
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
LIBCNI_BIN=$PROGRAMS/libcni-1
KIND_BIN=$PROGRAMS/kind-$KIND_VERSION
COREDNS_BIN=$PROGRAMS/coredns-$COREDNS_VERSION
PAUSE_BIN=$PROGRAMS/pause-1
HELM_BIN=$PROGRAMS/helm-$HELM_VERSION
export PATH=$NODE_HOME/bin:$GO_HOME/bin:$KUBERNETES_BIN:$KIND_BIN:$HELM_BIN:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# npm trusts the authorities that the system trusts, as git and apt do.
if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -f /etc/ssl/certs/ca-certificates.crt ]; then
    export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
fi

# Nx: plain lines, and no process that stays.
export NX_DAEMON=false NX_TUI=false

# Clusters of ours, and the images that are only made here.
CLUSTER=antrea
TEST_CLUSTER=antrea-e2e
TEST_IMAGE=antrea-dev/agnhost:local

say() { printf '[%(%H:%M:%S)T] %s\n' -1 "$*" >&2; }
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
    local label=$1 log start=$EPOCHSECONDS pid rc=0 last=0 now never
    shift
    log=$LOGS/$(echo "$label" | tr -cs 'a-zA-Z0-9.\n' '-').log
    ("$@") >"$log" 2>&1 </dev/null &
    pid=$!
    # waited at, instead of a process five times a second
    exec {never}<> <(:)
    while kill -0 "$pid" 2>/dev/null; do
        now=$((EPOCHSECONDS - start))
        if [ -t 2 ]; then
            printf '\r  … %s %ds ' "$label" "$now" >&2
        elif [ $((now - last)) -ge 30 ]; then
            last=$now
            printf '  … %s %ds\n' "$label" "$now" >&2
        fi
        read -rt 0.2 -u "$never" || true
    done
    exec {never}>&-
    wait "$pid" || rc=$?
    [ ! -t 2 ] || printf '\r\033[K' >&2
    now=$((EPOCHSECONDS - start))
    if [ "$rc" -ne 0 ]; then
        printf '  ✗ %s (%ds)\n' "$label" "$now" >&2
        tail -n "${STEP_TAIL:-25}" "$log" | sed 's/^/    | /' >&2
        fail "'$label' failed with exit code $rc" "read $log"
    fi
    [ "$now" -lt 1 ] && [ -n "${QUIET_WHEN_INSTANT:-}" ] || printf '  ✓ %s (%ds)\n' "$label" "$now" >&2
}

# hash FILE-OR-FOLDER-OR-TEXT...: twelve digits that change when any of the files, or any text that is no file, does.
hash() {
    local item
    for item in "$@"; do
        if [ -d "$item" ]; then
            find "$item" -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum | sed "s#$item##"
        elif [ -f "$item" ]; then
            sha256sum <"$item"
        else
            printf '%s\n' "$item"
        fi
    done | sha256sum | cut -c1-12
}

# only_run NAME WHAT: waits until no other run with this cache does the same, and keeps others waiting until this script
# ends. Not where services are started: they would keep the lock.
only_run() {
    local lock=$CACHE/$1.lock
    # a second file of the same lock would give up the first
    [ "${ONLY_RUN:-}" != "$1" ] || return 0
    exec 8>>"$lock"
    ONLY_RUN=$1
    flock --nonblock 8 && return
    say "another run $2 in $CACHE, which is waited for ($lock)"
    flock 8 || fail "$lock cannot be locked" "see whether $CACHE is on a disk of this machine, or set ANTREA_CACHE to a folder that is"
}

# need_packages PACKAGE...: installs the Debian packages that are missing.
need_packages() {
    local package missing=()
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || fail "these Debian packages are missing and only root can install them: ${missing[*]}" "run this as root"
    step "apt-get install ${missing[*]}" install_packages "${missing[@]}"
}
install_packages() {
    local apt=(apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2)
    export DEBIAN_FRONTEND=noninteractive
    # The lists of a fresh machine are missing or old. One source of several that does not answer is no reason to stop.
    "${apt[@]}" update || true
    "${apt[@]}" install -y --no-install-recommends "$@" || {
        echo "Debian's packages could not be installed. Is the network there, and does 'apt-get update' reach a mirror?"
        return 1
    }
}

# kubeconfig_of CLUSTER: the cluster of `make up` goes where kubectl looks for it, others keep a file of their own.
kubeconfig_of() {
    if [ "$1" = "$CLUSTER" ]; then
        printf '%s\n' "${KUBECONFIG:-${HOME:-/root}/.kube/config}" | sed 's/:.*//'
    else
        printf '%s\n' "$CACHE/kubeconfig-$1"
    fi
}

# import_images NODE ARCHIVE: a Node skips the layers that it has.
import_images() {
    docker exec -i "$1" ctr --namespace k8s.io images import --digests --snapshotter overlayfs - <"$2"
}
