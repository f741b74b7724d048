#!/usr/bin/env bash
# Builds the Go programs of the local cluster (Kubernetes, etcd, containerd, kind, helm, …) from the Go module proxy,
# static, one folder a program and version in the cache. What is there already is left alone.
#   build-programs.sh [GROUP...]      GROUP: kubernetes etcd containerd cri-tools cni-plugins libcni kind helm coredns pause
#                                     or tools: what a cluster of ready images needs on this side
#                                     or e2e.test: Kubernetes' own tests and the runner of Ginkgo that splits them
. "$(dirname "$0")/../lib.sh"
export CGO_ENABLED=0 GOFLAGS="-mod=mod -buildvcs=false" GOTOOLCHAIN=local
HERE=$TOOLS/cluster
MODULES=$CACHE/go-modules
GROUPS_WANTED=${*:-kubernetes etcd containerd cri-tools cni-plugins libcni kind helm coredns pause}

# pin NAME MODULE@VERSION: a module of our own that only requires another. `go install module@version` refuses modules
# with replace lines (etcd, containerd); a requirement does not look at them.
pin() {
    local folder=$MODULES/$1-${2##*@}
    mkdir -p "$folder"
    [ -f "$folder/ready" ] && return
    (
        cd "$folder"
        printf 'module pin\n\ngo %s\n' "$GO_VERSION" >go.mod
        go get "$2"
        touch ready
    )
}

# The Kubernetes module replaces its staging modules by folders of its own tree, which a requirement would lose:
# they are pinned to their published versions instead.
pin_kubernetes() {
    local folder=$MODULES/kubernetes-$KUBERNETES_VERSION source
    mkdir -p "$folder"
    [ -f "$folder/ready" ] && return
    source=$(cd "$folder" && go mod download -json "k8s.io/kubernetes@$KUBERNETES_VERSION" | sed -nE 's/^[[:space:]]*"Dir": "(.*)",?$/\1/p')
    {
        printf 'module pin\n\n'
        grep -E '^go ' "$source/go.mod"
        printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$KUBERNETES_VERSION"
        sed -nE "s#^[[:space:]]*(replace )?([^ ]+) => \./staging/.*#\t\2 => \2 $KUBERNETES_LIBS_VERSION#p" "$source/go.mod"
        printf ')\n'
    } >"$folder/go.mod"
    touch "$folder/ready"
}

# compile OUTPUT MODULE-FOLDER PACKAGE [LDFLAGS] [TAGS]
compile() {
    mkdir -p "$(dirname "$1")"
    (
        cd "$MODULES/$2"
        go build -trimpath -tags "${5:-}" -ldflags "-s -w ${4:-}" -o "$1.part" "$3"
        mv "$1.part" "$1"
    )
}
want() { case " $GROUPS_WANTED " in *" $1 "*) return 0 ;; *) return 1 ;; esac }
# missing OUTPUT: whether it is to be made, by this run alone. Another may have made it while it was waited for; nobody
# waits who has everything.
missing() {
    [ ! -e "$1" ] || return 1
    only_run programs "builds programs"
    [ ! -e "$1" ]
}
# program OUTPUT MODULE-FOLDER PACKAGE [LDFLAGS] [TAGS]
program() { ! missing "$1" || step "compile $(basename "$1")" compile "$@"; }
# compile_test OUTPUT MODULE-FOLDER PACKAGE [LDFLAGS]
compile_test() {
    mkdir -p "$(dirname "$1")"
    (
        cd "$MODULES/$2"
        go test -c -trimpath -ldflags "-s -w ${4:-}" -o "$1.part" "$3"
        mv "$1.part" "$1"
    )
}
# fetch LABEL OUTPUT COMMAND...: only when the program it is for is missing
fetch() {
    local label=$1 output=$2
    shift 2
    ! missing "$output" || step "fetch $label" "$@"
}

if want kubernetes || want tools || want e2e.test; then
    fetch kubernetes "$KUBERNETES_BIN/agnhost" pin_kubernetes
    minor=${KUBERNETES_VERSION#v1.}
    version_package=k8s.io/component-base/version
    flags="-X $version_package.gitVersion=$KUBERNETES_VERSION -X $version_package.gitMajor=1 -X $version_package.gitMinor=${minor%%.*} -X k8s.io/client-go/pkg/version.gitVersion=$KUBERNETES_VERSION"
    names='' module=kubernetes-$KUBERNETES_VERSION
    ! want tools || names='kubectl'
    ! want kubernetes || names='kube-apiserver kubelet kubeadm kube-controller-manager kube-scheduler kube-proxy kubectl'
    for name in $names; do
        program "$KUBERNETES_BIN/$name" "$module" "k8s.io/kubernetes/cmd/$name" "$flags"
    done
    [ -z "$names" ] || program "$KUBERNETES_BIN/agnhost" "$module" k8s.io/kubernetes/test/images/agnhost
    if want e2e.test; then
        ! missing "$KUBERNETES_BIN/e2e.test" ||
            step "compile e2e.test" compile_test "$KUBERNETES_BIN/e2e.test" "$module" k8s.io/kubernetes/test/e2e "$flags"
        # of the version that e2e.test was compiled with
        program "$KUBERNETES_BIN/ginkgo" "$module" github.com/onsi/ginkgo/v2/ginkgo
        # what the images of its tests have: the program of one of them, and the certificate that agnhost serves
        program "$KUBERNETES_BIN/regression-issue-74839" "$module" k8s.io/kubernetes/test/images/regression-issue-74839
        if missing "$KUBERNETES_BIN/agnhost-files"; then
            source=$(cd "$MODULES/$module" && go list -m -f '{{.Dir}}' k8s.io/kubernetes)
            rm -rf "$KUBERNETES_BIN/agnhost-files.part"
            install -m 0644 -D -t "$KUBERNETES_BIN/agnhost-files.part" "$source"/test/images/agnhost/porter/localhost.{crt,key}
            mv "$KUBERNETES_BIN/agnhost-files.part" "$KUBERNETES_BIN/agnhost-files"
        fi
    fi
fi
if want etcd; then
    fetch etcd "$ETCD_BIN/etcd" pin etcd "go.etcd.io/etcd/server/v3@$ETCD_VERSION"
    program "$ETCD_BIN/etcd" "etcd-$ETCD_VERSION" go.etcd.io/etcd/server/v3
fi
if want containerd; then
    module=github.com/containerd/containerd/v2
    fetch containerd "$CONTAINERD_BIN/ctr" pin containerd "$module@$CONTAINERD_VERSION"
    for name in containerd containerd-shim-runc-v2 ctr; do
        program "$CONTAINERD_BIN/$name" "containerd-$CONTAINERD_VERSION" "$module/cmd/$name" \
            "-X $module/version.Version=$CONTAINERD_VERSION" no_btrfs,no_zfs,no_devmapper
    done
fi
if want cri-tools; then
    fetch cri-tools "$CRI_TOOLS_BIN/crictl" pin cri-tools "sigs.k8s.io/cri-tools@$CRI_TOOLS_VERSION"
    program "$CRI_TOOLS_BIN/crictl" "cri-tools-$CRI_TOOLS_VERSION" sigs.k8s.io/cri-tools/cmd/crictl
fi
if want cni-plugins || want tools; then
    module=github.com/containernetworking/plugins
    fetch cni-plugins "$CNI_PLUGINS_BIN/macvlan" pin cni-plugins "$module@$CNI_PLUGINS_VERSION"
    for name in main/bridge main/ptp main/macvlan main/loopback ipam/host-local ipam/static ipam/dhcp meta/portmap meta/bandwidth; do
        program "$CNI_PLUGINS_BIN/${name##*/}" "cni-plugins-$CNI_PLUGINS_VERSION" "$module/plugins/$name"
    done
fi
# calls plugins as runtimes and meta plugins do
if want libcni && missing "$LIBCNI_BIN/libcni"; then
    rm -rf "$MODULES/libcni-1"
    cp -r "$TOOLS/libcni" "$MODULES/libcni-1"
    program "$LIBCNI_BIN/libcni" libcni-1 .
fi
if want kind || want tools; then
    # kind's own static files for a node image come from its module, so the module stays needed
    fetch kind "$KIND_BIN/kind" pin kind "sigs.k8s.io/kind@$KIND_VERSION"
    program "$KIND_BIN/kind" "kind-$KIND_VERSION" sigs.k8s.io/kind
    if missing "$KIND_BIN/node-files"; then
        source=$(cd "$MODULES/kind-$KIND_VERSION" && go list -m -f '{{.Dir}}' sigs.k8s.io/kind)
        rm -rf "$KIND_BIN/node-files.part"
        cp -r --no-preserve=mode,ownership "$source/images/base/files" "$KIND_BIN/node-files.part"
        mv "$KIND_BIN/node-files.part" "$KIND_BIN/node-files"
    fi
fi
if want helm || want tools; then
    module=helm.sh/helm/v3
    fetch helm "$HELM_BIN/helm" pin helm "$module@$HELM_VERSION"
    program "$HELM_BIN/helm" "helm-$HELM_VERSION" "$module/cmd/helm" "-X $module/internal/version.version=$HELM_VERSION"
fi
if want coredns; then
    if missing "$COREDNS_BIN/coredns"; then
        step "fetch coredns" pin coredns "github.com/coredns/coredns@$COREDNS_VERSION"
        cp "$HERE/programs/coredns/main.go" "$MODULES/coredns-$COREDNS_VERSION/"
    fi
    program "$COREDNS_BIN/coredns" "coredns-$COREDNS_VERSION" .
fi
if want e2e.test && missing "$COREDNS_BIN/coredns-hosts"; then
    fetch coredns "$COREDNS_BIN/coredns-hosts" pin coredns "github.com/coredns/coredns@$COREDNS_VERSION"
    install -D -t "$MODULES/coredns-$COREDNS_VERSION/hosts" "$TOOLS/kubernetes-e2e/coredns/main.go"
    program "$COREDNS_BIN/coredns-hosts" "coredns-$COREDNS_VERSION" ./hosts
fi
if want pause && missing "$PAUSE_BIN/pause"; then
    mkdir -p "$MODULES/pause-1"
    cp "$HERE/programs/pause/main.go" "$MODULES/pause-1/"
    printf 'module pin\n\ngo %s\n' "$GO_VERSION" >"$MODULES/pause-1/go.mod"
    program "$PAUSE_BIN/pause" pause-1 .
fi
