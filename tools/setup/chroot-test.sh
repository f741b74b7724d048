#!/usr/bin/env bash
# Runs the installing part of the set-up in a minimal Debian 12 of its own (a chroot with git and make), with the
# package registries that this machine is set up for, and checks its messages when it cannot continue.
# Leaves its results in .reports/setup-chroot.json.
. "$(dirname "$0")/../lib.sh"
packages=(git make)
root_hash=$(hash "$DEBIAN_SUITE" "${packages[*]}" "$TOOLS/setup/debian-root.sh")
root_tar=$CACHE/roots/bare-$root_hash.tar
# what was downloaded once comes from here the next time
downloads=$CACHE/chroot-downloads
root=$(mktemp -d "$CACHE/chroot.XXXXXX")
chmod 0755 "$root"
results=$REPO/.reports/setup-chroot.json
passed=0 failed=0 cases='[]'
trap 'rm -rf --one-file-system "$root"' EXIT

make_root_tar() {
    mkdir -p "$CACHE/roots"
    rm -f "$CACHE"/roots/bare-*.tar
    "$TOOLS/setup/debian-root.sh" "$root_tar" "${packages[@]}"
}

# The registries and certificates of this machine, as settings of the new one.
copy_settings() {
    local file
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    for file in .npmrc .netrc .config/go/env; do
        [ ! -f "${HOME:-/root}/$file" ] || install -D -m 0600 "${HOME:-/root}/$file" "$root/root/$file"
    done
    # may have a token, as .npmrc
    install -m 0600 /dev/null "$root/root/registry.env"
    # without the settings that npm adds for what it runs, such as the folders of this machine
    env | grep -iEv '^npm_config_(prefix|local_prefix|global_prefix|cache|userconfig|globalconfig|init_module|node_gyp|user_agent|npm_version|noproxy=$)' |
        grep -iE '^(npm_config_[^=]*|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|GOPROXY|GOSUMDB|GONOSUMDB|GONOPROXY|GOPRIVATE|GOINSECURE|GOFLAGS|https?_proxy|no_proxy|all_proxy)=' >"$root/root/registry.env" || true
    # nothing that a package brings is started in here
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 0755 "$root/usr/sbin/policy-rc.d"
    # a machine that is removed in some minutes need not outlive a power cut: dpkg syncs every file else
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
}

copy_checkout() {
    mkdir -p "$root/srv/antrea"
    # files that git knows, and those it would; a file that is being deleted is no reason to stop
    (cd "$REPO" && git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' - |
        tar --null --files-from - -cf -) | tar -C "$root/srv/antrea" -xf -
}

unpack() {
    tar -C "$root" -xf "$root_tar"
    copy_settings
    copy_checkout
}

# inside [--no-network] COMMAND: runs a shell command in the new machine, in namespaces of its own
inside() {
    local options=(--mount --pid --fork)
    if [ "$1" = --no-network ]; then
        options+=(--net)
        shift
    fi
    mkdir -p "$downloads"/{debs/partial,npm,go} "$root/root/.npm" "$root/root/go"
    # shellcheck disable=SC2016  # expanded by the inner shell
    unshare "${options[@]}" bash -euc '
        root=$1 downloads=$2
        mount --make-rprivate /
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --bind "$downloads/debs" "$root/var/cache/apt/archives"
        mount --bind "$downloads/npm" "$root/root/.npm"
        mount --bind "$downloads/go" "$root/root/go"
        mapfile -t settings <"$root/root/registry.env"
        exec env -i HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" \
            chroot "$root" bash -euo pipefail -c "cd /srv/antrea && $3"
    ' inside "$root" "$downloads" "$1" 2>&1
}

# check NAME EXPECTED-EXIT EXPECTED-TEXT inside ARGUMENT...: one case. An empty text expects nothing in particular.
check() {
    local name=$1 code=$2 text=$3 output rc=0 start status=passed log
    shift 3
    log=$LOGS/setup-test-$((passed + failed + 1)).log
    start=$(date +%s)
    output=$("$@" | tee "$log") || rc=$?
    if { [ "$code" = 0 ] && [ "$rc" != 0 ]; } || { [ "$code" != 0 ] && [ "$rc" = 0 ]; } || [[ $output != *"$text"* ]]; then
        status=failed
        failed=$((failed + 1))
        printf '  ✗ %s (exit code %s)\n' "$name" "$rc" >&2
        tail -n 15 "$log" | sed 's/^/    | /' >&2
    else
        passed=$((passed + 1))
        printf '  ✓ %s (%ss)\n' "$name" $(($(date +%s) - start)) >&2
    fi
    cases=$(jq -c --arg name "$name" --arg status "$status" '. + [{fullName: $name, status: $status}]' <<<"$cases")
}

rm -f "$results"
[ -f "$root_tar" ] || step "minimal Debian" make_root_tar
QUIET_WHEN_INSTANT=1 step "unpack it" unpack
bootstrap='make --no-print-directory bootstrap'
check "another system is refused" 1 "made for Debian 12" \
    inside "sed -i.saved s/^VERSION_ID=.*/VERSION_ID=11/ /etc/os-release; trap 'mv /etc/os-release.saved /etc/os-release' EXIT; $bootstrap"
check "without root it fails with a message" 1 "run this as root" inside "ANTREA_CACHE=/tmp/cache setpriv --reuid 65534 --clear-groups $bootstrap"
check "without network it fails with a message" 1 "Is the network there" inside --no-network "$bootstrap"
check "everything is installed" 0 "" inside "$bootstrap"
check "Node.js runs" 0 "v$NODE_VERSION" inside ". tools/lib.sh; node --version; npm --version"
check "Go compiles" 0 "go$GO_VERSION" inside ". tools/lib.sh; go version; tools/cluster/build-programs.sh pause"
check "the workspace's tools run" 0 "Version " inside ". tools/lib.sh; npx --no-install tsc --version; npx --no-install jest --version; NX_DAEMON=false npx --no-install nx --version"
check "the apps build" 0 "Successfully ran target build" inside ". tools/lib.sh; npx --no-install nx run-many -t build --outputStyle=static"
check "a second run finds nothing to do" 0 "and printed nothing" inside "printed=\$($bootstrap 2>&1); [ -z \"\$printed\" ] || { echo \"\$printed\"; exit 1; }; echo and printed nothing"

mkdir -p "$(dirname "$results")"
jq -n --argjson passed "$passed" --argjson failed "$failed" --argjson cases "$cases" \
    '{numPassedTests: $passed, numFailedTests: $failed, testResults: [{name: "tools/setup/chroot-test.sh", assertionResults: $cases}]}' >"$results"
[ "$failed" = 0 ]
