#!/usr/bin/env bash
# Prints the name of an image for kind's Nodes, and makes sure that it and the image of the test Pods exist:
# kindest/node where a container registry answers, else one that is built here from Debian's packages, kind's own
# files and the programs that build-programs.sh compiled, with the images of the control plane inside.
. "$(dirname "$0")/../lib.sh"
HERE=$TOOLS/cluster
ROOTS=$CACHE/roots
UPSTREAM=kindest/node:$KUBERNETES_VERSION

node_packages=(systemd systemd-sysv dbus runc conntrack iptables nftables ipset iproute2 ethtool mount kmod libseccomp2
    procps jq socat hostname tcpdump iputils-ping iputils-arping curl netcat-openbsd iperf3 busybox-static)
root_hash=$(hash "$DEBIAN_SUITE" "${node_packages[*]}" "$TOOLS/setup/debian-root.sh")
root_tar=$ROOTS/node-$root_hash.tar
local_image=antrea-dev/node:$KUBERNETES_VERSION-$(hash "$root_hash" "$KUBERNETES_VERSION $CONTAINERD_VERSION \
$CRI_TOOLS_VERSION $ETCD_VERSION $COREDNS_VERSION $KIND_VERSION $CNI_PLUGINS_VERSION" \
    "$HERE/node-image.sh" "$HERE/pick-programs.sh" "$HERE/storage-class.yaml" "$HERE/programs")

have() { docker image inspect "$1" >/dev/null 2>&1; }

make_root_tar() {
    mkdir -p "$ROOTS"
    rm -f "$ROOTS"/node-*.tar
    "$TOOLS/setup/debian-root.sh" "$root_tar" "${node_packages[@]}"
}

unpack_root() {
    rm -rf "$work/node"
    mkdir -p "$work/node"
    tar -C "$work/node" -xf "$root_tar"
}

# The image of the test Pods: one static server and client, and the tools that a test calls in a Pod.
make_test_image() {
    local root=$work/agnhost name
    "$HERE/pick-programs.sh" "$work/node" "$root" /usr/bin/dash /usr/sbin/ip /usr/bin/ping /usr/bin/curl \
        /usr/bin/nc.openbsd /usr/bin/iperf3 /usr/sbin/ethtool /usr/bin/tcpdump /usr/bin/arping /usr/bin/busybox
    install -m 0755 "$KUBERNETES_BIN/agnhost" "$root/agnhost"
    mkdir -p "$root/tmp" "$root/etc" "$root/usr/local/bin"
    ln -sf dash "$root/usr/bin/sh"
    ln -sf nc.openbsd "$root/usr/bin/nc"
    # a shell is looked for there too
    ln -sfn usr/bin "$root/bin"
    for name in $("$work/node/usr/bin/busybox" --list); do
        [ -e "$root/usr/bin/$name" ] || [ -e "$root/usr/sbin/$name" ] || ln -s busybox "$root/usr/bin/$name"
    done
    docker image rm --force "$TEST_IMAGE" || true
    tar -C "$root" -c . | docker import --change 'ENTRYPOINT ["/agnhost"]' --change 'CMD ["pause"]' \
        --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - "$TEST_IMAGE"
}

add_node_files() {
    local root=$work/node name
    cp -r --no-preserve=mode,ownership "$KIND_BIN/node-files/." "$root/"
    rm -rf "$root/LICENSES"
    chmod 0755 "$root/usr/local/bin/entrypoint" "$root"/kind/bin/*.sh
    install -m 0755 -t "$root/usr/bin" "$KUBERNETES_BIN"/{kubelet,kubeadm,kubectl}
    install -m 0755 -t "$root/usr/local/bin" "$CONTAINERD_BIN"/{containerd,containerd-shim-runc-v2,ctr} "$CRI_TOOLS_BIN/crictl"
    install -m 0755 -D -t "$root/opt/cni/bin" "$CNI_PLUGINS_BIN"/{loopback,host-local,ptp,portmap}
    mkdir -p "$root/etc/cni/net.d" "$root/etc/kubernetes/manifests" "$root/kind/manifests"
    install -m 0644 "$HERE/storage-class.yaml" "$root/kind/manifests/default-storage.yaml"
    printf '%s' "$KUBERNETES_VERSION" >"$root/kind/version"

    # of systemd's own units a container needs hardly any: the same ones go as in kind's image
    rm -f "$root"/lib/systemd/system/{multi-user,local-fs,basic}.target.wants/* "$root"/etc/systemd/system/*.wants/* \
        "$root"/lib/systemd/system/sockets.target.wants/*{udev,initctl}* \
        "$root"/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service
    echo 'ReadKMsg=no' >>"$root/etc/systemd/journald.conf"
    for name in kubelet containerd undo-mount-hacks; do
        chroot "$root" systemctl --quiet enable "$name.service"
    done
    chroot "$root" systemctl --quiet mask systemd-binfmt.service
    # the spec that kind's containerd settings name: product files are mounted, limits are not asked for
    "$CONTAINERD_BIN/ctr" oci spec | jq 'del(.process.rlimits)
        | .hooks.createContainer += [{path: "/kind/bin/mount-product-files.sh"}]' >"$root/etc/containerd/cri-base.json"
}

# control_plane_image NAME:TAG: one static program, what it calls, and certificates, as a Docker image
control_plane_image() {
    local name=${1##*/} root program
    name=${name%%:*}
    root=$work/image-$name
    mkdir -p "$root/usr/local/bin" "$root/etc/ssl/certs" "$root/run"
    cp "$work/node/etc/ssl/certs/ca-certificates.crt" "$root/etc/ssl/certs/"
    case $name in
        etcd) program=$ETCD_BIN/etcd ;;
        coredns) program=$COREDNS_BIN/coredns ;;
        pause) program=$PAUSE_BIN/pause ;;
        *) program=$KUBERNETES_BIN/$name ;;
    esac
    install -m 0755 -t "$root/usr/local/bin" "$program"
    if [ "$name" = kube-proxy ]; then
        (cd "$work/node" && ls usr/lib/*/xtables/*.so) | sed 's#^#/#' | xargs "$HERE/pick-programs.sh" "$work/node" \
            "$root" /usr/sbin/xtables-nft-multi /usr/sbin/nft /usr/sbin/conntrack /usr/sbin/ipset
        for program in {iptables,ip6tables}{,-save,-restore}; do
            ln -s xtables-nft-multi "$root/usr/sbin/$program"
        done
    fi
    tar -C "$root" -c . | docker import --change "ENTRYPOINT [\"/usr/local/bin/$name\"]" \
        --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - "$1"
    rm -rf "$root"
}

# Puts images into the Node's own store, by a containerd that runs here for that long.
preload() {
    local state=$work/containerd pid names
    # what kubeadm will ask for, and what kind's containerd settings name as the sandbox
    names=$(
        "$KUBERNETES_BIN/kubeadm" config images list --kubernetes-version "$KUBERNETES_VERSION"
        sed -nE 's/^ *sandbox_image = "(.*)"/\1/p' "$work/node/etc/containerd/config.toml"
    )
    names=$(sort -u <<<"$names")
    for name in $names; do control_plane_image "$name"; done
    # shellcheck disable=SC2086  # one word a name
    docker save -o "$work/images.tar" $names "$TEST_IMAGE"
    # shellcheck disable=SC2086
    docker image rm $names

    mkdir -p "$state" "$work/node/var/lib/containerd"
    cat >"$state/config.toml" <<EOF
version = 2
root = "$work/node/var/lib/containerd"
state = "$state/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"]
[grpc]
  address = "$state/socket"
EOF
    "$CONTAINERD_BIN/containerd" --config "$state/config.toml" &
    pid=$!
    for _ in $(seq 100); do
        [ ! -S "$state/socket" ] || break
        sleep 0.1
    done
    "$CONTAINERD_BIN/ctr" --address "$state/socket" --namespace k8s.io images import --no-unpack --all-platforms \
        --label io.cri-containerd.pinned=pinned "$work/images.tar"
    kill "$pid"
    wait "$pid" || true
    rm -f "$work/images.tar"
}

make_node_image() {
    tar -C "$work/node" --numeric-owner -c . | docker import --change 'ENV container=docker' \
        --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' - "$local_image"
    # older ones of ours only fill the disk; one that a Node still runs stays
    docker image ls --format '{{.Repository}}:{{.Tag}}' antrea-dev/node | grep -vxF "$local_image" |
        xargs -r docker image rm || true
}

registry_answers() { timeout 15 docker manifest inspect "$UPSTREAM" >/dev/null 2>&1; }

"$HERE/start-docker.sh"
if have "$local_image" && have "$TEST_IMAGE"; then
    printf '%s\n' "$local_image"
    exit
fi
if ! have "$UPSTREAM" && registry_answers; then
    step "pull $UPSTREAM" docker pull --quiet "$UPSTREAM"
fi
if have "$UPSTREAM" && have "$TEST_IMAGE"; then
    printf '%s\n' "$UPSTREAM"
    exit
fi

need_packages mmdebstrap jq
if have "$UPSTREAM"; then "$HERE/build-programs.sh" tools; else "$HERE/build-programs.sh"; fi
work=$(mktemp -d "$CACHE/node-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
[ -f "$root_tar" ] || step "Debian root of the Nodes" make_root_tar
step "unpack root" unpack_root
step "image of the test Pods" make_test_image
if have "$UPSTREAM"; then
    printf '%s\n' "$UPSTREAM"
    exit
fi
step "files of the Nodes" add_node_files
step "images of the control plane" preload
step "image of the Nodes" make_node_image
printf '%s\n' "$local_image"
