#!/usr/bin/env bash
# Puts the images of the chosen tests onto the Nodes of a local cluster, under the names that e2e.test has for them, so
# that nothing is pulled: its own programs are compiled (see build-programs.sh), the rest comes from Debian's packages.
#   images.sh CLUSTER
. "$(dirname "$0")/../lib.sh"
cluster=$1
# with the builder that every Docker has; the newer one is a plugin that Debian does not bring
docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
LABEL=io.antrea.inputs
OURS=antrea-dev/kubernetes-e2e
PATH_OF_IMAGES=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# what agnhost, busybox, distroless-iptables, glibc-dns-testing and nginx have and their tests call
packages=(bash bind9-dnsutils conntrack curl iproute2 iptables netcat-openbsd nginx-light procps wget)
base=$OURS-base:$(hash "$DEBIAN_SUITE" "${packages[*]}" "$TOOLS/setup/debian-root.sh")

have() { docker image inspect "$1" >/dev/null 2>&1; }

make_base() {
    "$TOOLS/setup/debian-root.sh" "$work/base.tar" "${packages[@]}"
    docker import --change "ENV $PATH_OF_IMAGES" "$work/base.tar" "$base"
    # an older one only fills the disk
    docker image ls --format '{{.Repository}}:{{.Tag}}' "$OURS-base" | grep -vxF "$base" | xargs -r docker image rm --force || true
}

# stage NAME: the folder from which the image is built
stage() {
    local folder=$work/$1
    mkdir -p "$folder"
    case $1 in
        agnhost)
            mkdir -p "$folder/files/uploads" "$folder/files/etc"
            # wget of the image that the tests expect does not try again
            echo 'tries = 1' >"$folder/files/etc/wgetrc"
            install -m 0755 -t "$folder/files" "$KUBERNETES_BIN/agnhost"
            install -m 0755 "$COREDNS_BIN/coredns-hosts" "$folder/files/coredns"
            install -m 0644 -t "$folder/files" "$KUBERNETES_BIN"/agnhost-files/*
            printf 'FROM %s\nCOPY files/ /\nENTRYPOINT ["/agnhost"]\nCMD ["pause"]\n' "$base"
            ;;
        debian) printf 'FROM %s\nCMD ["bash"]\n' "$base" ;;
        nginx) printf 'FROM %s\nCMD ["nginx", "-g", "daemon off;"]\n' "$base" ;;
        regression-issue-74839)
            install -m 0755 "$KUBERNETES_BIN/regression-issue-74839" "$folder/regression-issue-74839"
            printf 'FROM scratch\nCOPY regression-issue-74839 /\nENTRYPOINT ["/regression-issue-74839"]\n'
            ;;
    esac >"$folder/Dockerfile"
}

build() {
    docker build --quiet --network none --label "$LABEL=$inputs" --tag "$image" "$work/$name"
    docker image prune --force --filter "label=$LABEL" >/dev/null || true
}

# names_of NAME: what e2e.test calls the image that we make under this name
names_of() {
    local pattern
    case $1 in
        debian) pattern='/(busybox|distroless-iptables|glibc-dns-testing):' ;;
        nginx) pattern='/nginx:1\.15' ;;
        # the image of a private registry must not be there
        agnhost) pattern='^registry\.k8s\.io/e2e-test-images/agnhost:' ;;
        *) pattern="/$1:" ;;
    esac
    grep -E "$pattern" <<<"$all_names"
}

tag_on_nodes() {
    local node name image
    for node in $("$KIND_BIN/kind" get nodes --name "$cluster"); do
        for name in "${names[@]}"; do
            for image in $(names_of "$name"); do
                docker exec "$node" ctr --namespace k8s.io images tag --force "docker.io/$OURS-$name:local" "$image"
            done
        done
    done
}

"$TOOLS/cluster/start-docker.sh"
need_packages mmdebstrap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
have "$base" || step "Debian root of Kubernetes' test images" make_base
all_names=$("$KUBERNETES_BIN/e2e.test" --list-images 2>/dev/null)
names=(agnhost debian nginx regression-issue-74839) images=()
for name in "${names[@]}"; do
    image=$OURS-$name:local
    images+=("$image")
    stage "$name"
    inputs=$(hash "$work/$name")
    if [ "$(docker image inspect --format "{{index .Config.Labels \"$LABEL\"}}" "$image" 2>/dev/null || true)" != "$inputs" ]; then
        step "image $image" build
    fi
done
"$TOOLS/images/load.sh" "$cluster" "${images[@]}"
step "names of Kubernetes' test images on $cluster" tag_on_nodes
