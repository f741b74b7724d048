#!/usr/bin/env bash
# Makes a small Debian root as a tar file, from the same package sources as this machine.
#   debian-root.sh OUTPUT.tar [PACKAGE...]
. "$(dirname "$0")/../lib.sh"
output=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Where this machine takes Debian's packages from; nothing where it has another suite, then Debian's own are used.
sources() {
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        [ -f "$file" ] || continue
        if grep -qE "^(deb .*|Suites:.*)\b$DEBIAN_SUITE\b" "$file" && grep -qE 'debian' "$file" && grep -qE '\bmain\b' "$file"; then
            # other vendors' packages may call their suite so too
            grep -qE "^(deb|URIs:).*/(debian|debian-security)/?( |$)" "$file" && cat "$file" && echo
        fi
    done
    return 0
}
sources >"$work/sources"
# proxies and the like
apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-Date|Check-Valid-Until)\b' >"$work/apt.conf" || true
include=$(printf ',%s' "$@")
mirror=()
[ ! -s "$work/sources" ] || mirror=("$work/sources")
mmdebstrap --quiet --variant=minbase --mode=root --format=tar \
    --aptopt="$work/apt.conf" \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --include="ca-certificates${include%,}" \
    "$DEBIAN_SUITE" "$output.part" "${mirror[@]}"
mv "$output.part" "$output"
