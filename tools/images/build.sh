#!/usr/bin/env bash
# Builds the images of our apps, antrea/antrea-NAME:dev, from their Dockerfiles and what `nx build` made. An image
# whose inputs have not changed is left alone. What is in each is written to dist/sbom/antrea-NAME.cdx.json, which the
# image has under /usr/share/doc/antrea/ too.
#   build.sh [agent|controller|webhook]...
. "$(dirname "$0")/../lib.sh"
UPSTREAM_BASE=debian:$DEBIAN_SUITE-slim
LABEL=io.antrea.inputs
# with the builder that every Docker has; the newer one is a plugin that Debian does not bring
docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0

have() { docker image inspect "$1" >/dev/null 2>&1; }

# place FILE TARGET: copies a file that another step must have made into the folder of the image
place() {
    [ -f "$1" ] || fail "$1 is missing, and the image antrea-$app is made of it" "run: make image"
    install -D -m 0755 "$1" "$staged/files/$2"
}

stage_agent() {
    local lib=usr/local/lib/antrea native=@koromix/koffi-linux-x64
    place "$REPO/apps/agent/dist/antrea-agent.mjs" $lib/antrea-agent.mjs
    place "$REPO/apps/cni/dist/antrea-cni" $lib/cni-bin/antrea
    place "$CNI_PLUGINS_BIN/portmap" $lib/cni-bin/portmap
    place "$CNI_PLUGINS_BIN/bandwidth" $lib/cni-bin/bandwidth
    place "$REPO/apps/antctl/dist/antctl" usr/local/bin/antctl
    # the names by which kubectl finds a plugin and what completes it
    ln -s antctl "$staged/files/usr/local/bin/kubectl-antrea"
    ln -s antctl "$staged/files/usr/local/bin/kubectl_complete-antrea"
    # the one dependency with native code stays beside the bundle
    mkdir -p "$staged/files/$lib/node_modules/koffi" "$staged/files/$lib/node_modules/$native"
    cp -r "$REPO/node_modules/koffi/." "$staged/files/$lib/node_modules/koffi/"
    cp -r "$REPO/node_modules/$native/." "$staged/files/$lib/node_modules/$native/"
    install -D -m 0755 -t "$staged/files/usr/local/bin" "$REPO"/apps/agent/image/{antrea-agent,start-ovs,install-cni}
    ln -s cni-bin/antrea "$staged/files/$lib/antrea-cni"
}

stage_controller() {
    place "$REPO/apps/controller/dist/antrea-controller.mjs" usr/local/lib/antrea/antrea-controller.mjs
    install -D -m 0755 -t "$staged/files/usr/local/bin" "$REPO"/apps/controller/image/{antrea-controller,antrea-controller-probe}
}

stage_webhook() {
    place "$REPO/apps/webhook/dist/antrea-webhook.mjs" usr/local/lib/antrea/antrea-webhook.mjs
    install -D -m 0755 -t "$staged/files/usr/local/bin" "$REPO/apps/webhook/image/antrea-webhook"
}

# Puts together the folder that the Dockerfile is built from.
stage() {
    mkdir -p "$staged/files/usr/local/bin"
    install -D -m 0755 "$(readlink -f "$NODE_HOME/bin/node")" "$staged/node/usr/local/bin/node"
    install -m 0644 "$REPO/apps/$app/Dockerfile" "$REPO/apps/$app/image/packages" "$staged/"
    "stage_$app"
}

make_base() {
    local tar=$work/base.tar packages
    mapfile -t packages <"$REPO/apps/$app/image/packages"
    "$TOOLS/setup/debian-root.sh" "$tar" "${packages[@]}"
    docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "$tar" "$1"
    rm -f "$tar"
}

# Sets base to an image to start from: made here before, else a registry's, else made here now.
choose_base() {
    base=antrea-dev/base:$(hash "$DEBIAN_SUITE" "$REPO/apps/$app/image/packages" "$TOOLS/setup/debian-root.sh")
    have "$base" && return
    if have "$UPSTREAM_BASE" || timeout 30 docker pull --quiet "$UPSTREAM_BASE" >/dev/null 2>&1; then
        base=$UPSTREAM_BASE
    else
        need_packages mmdebstrap
        step "Debian root of antrea-$app" make_base "$base"
    fi
}

# describe IMAGE: writes the bill of materials of an image, by the Debian packages that are in it and what was bundled.
describe() {
    local root=$work/root-$app container
    mkdir -p "$root/usr/local/bin" "$root/usr/share" "$root/var/lib/dpkg" "$root/etc"
    container=$(docker create "$1")
    docker cp "$container:/var/lib/dpkg/status" "$root/var/lib/dpkg/status"
    docker cp --follow-link "$container:/etc/os-release" "$root/etc/os-release"
    docker cp "$container:/usr/share/doc" "$root/usr/share/doc"
    docker rm "$container" >/dev/null
    ln -sf "$staged/node/usr/local/bin/node" "$root/usr/local/bin/node"
    mkdir -p "$work/sbom-$app"
    ANTREA_CACHE=$CACHE "$NODE_HOME/bin/node" "$TOOLS/security/sbom/main.ts" "$app" "$root" "$work/sbom-$app/antrea-$app.cdx.json"
}

# The image, then the same with the list of what is in it.
build() {
    local bare=antrea-dev/bare-$app:dev
    docker build --quiet --network "${BUILD_NETWORK:-default}" --build-arg "BASE=$base" --label "$LABEL=$inputs" --tag "$bare" "$staged"
    describe "$bare"
    printf 'FROM %s\nCOPY *.cdx.json /usr/share/doc/antrea/\n' "$bare" >"$work/sbom-$app/Dockerfile"
    docker build --quiet --label "$LABEL=$inputs" --tag "$image" "$work/sbom-$app"
    docker image rm "$bare" >/dev/null || true
    # what had the tag before only fills the disk; what a container uses stays
    docker image prune --force --filter "label=$LABEL" >/dev/null || true
}

# Takes the bill of materials out of the image.
copy_sbom() {
    local container file=antrea-$app.cdx.json
    container=$(docker create "$image")
    mkdir -p "$REPO/dist/sbom"
    docker cp "$container:/usr/share/doc/antrea/$file" "$REPO/dist/sbom/$file"
    docker rm "$container" >/dev/null
}

"$TOOLS/cluster/start-docker.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- agent controller webhook
for app in "$@"; do
    image=antrea/antrea-$app:dev
    staged=$work/$app
    stage
    choose_base
    inputs=$(hash "$base" "$staged" "$TOOLS/security/sbom")
    if [ "$(docker image inspect --format "{{index .Config.Labels \"$LABEL\"}}" "$image" 2>/dev/null || true)" != "$inputs" ]; then
        step "image $image" build
    fi
    QUIET_WHEN_INSTANT=1 step "bill of materials of antrea-$app" copy_sbom
done
