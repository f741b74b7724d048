#!/usr/bin/env bash
# Loads the images of our apps onto every Node of a cluster that has another one, or none, under that name.
#   load.sh CLUSTER [IMAGE...]
. "$(dirname "$0")/../lib.sh"
cluster=$1
shift
[ $# -gt 0 ] || set -- antrea/antrea-{agent,controller,webhook}:dev

# the id of an image is the digest of its configuration, on both sides
on_node() { docker exec "$1" crictl inspecti -o go-template --template '{{.status.id}}' "docker.io/$2" 2>/dev/null || true; }

load=() nodes=()
for image in "$@"; do
    id=$(docker image inspect --format '{{.Id}}' "$image")
    for node in $("$KIND_BIN/kind" get nodes --name "$cluster"); do
        [ "$(on_node "$node" "$image")" = "$id" ] || {
            [[ " ${load[*]} " == *" $image "* ]] || load+=("$image")
            [[ " ${nodes[*]} " == *" $node "* ]] || nodes+=("$node")
        }
    done
done
[ ${#load[@]} -gt 0 ] || exit 0

# One archive for all of them.
load_images() {
    local node pids=()
    docker save -o "$work/images.tar" "${load[@]}"
    for node in "${nodes[@]}"; do
        import_images "$node" "$work/images.tar" &
        pids+=($!)
    done
    for node in "${pids[@]}"; do wait "$node"; done
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step "load ${load[*]}" load_images
