#!/usr/bin/env bash
# Builds the chart and the images of an earlier release from its commit, with the scripts of that commit, and keeps them in
# the cache: chart/ and images.tar, images tagged with the release's name. Prints the folder.
#   build-release.sh NAME
. "$(dirname "$0")/../lib.sh"
name=$1
commit=$(awk -v name="$name" '$1 == name { print $2 }' "$TOOLS/upgrade/releases")
[ -n "$commit" ] || fail "there is no release $name" "see tools/upgrade/releases"
place=$CACHE/releases/$name-${commit:0:12}
apps=(agent controller webhook)

build() {
    local source=$work/source app made=()
    git clone --quiet "$REPO" "$source"
    git -C "$source" checkout --quiet "$commit"
    # ours keep their tag
    for app in "${apps[@]}"; do
        ! docker image inspect "antrea/antrea-$app:dev" >/dev/null 2>&1 || docker tag "antrea/antrea-$app:dev" "antrea/antrea-$app:ours"
    done
    (export ANTREA_CACHE=$CACHE && cd "$source" && tools/setup/bootstrap.sh && tools/build.sh)
    for app in "${apps[@]}"; do
        if [ -f "$source/apps/$app/Dockerfile" ]; then
            docker tag "antrea/antrea-$app:dev" "antrea/antrea-$app:$name"
            made+=("antrea/antrea-$app:$name")
        fi
        ! docker image inspect "antrea/antrea-$app:ours" >/dev/null 2>&1 || {
            docker tag "antrea/antrea-$app:ours" "antrea/antrea-$app:dev"
            docker rmi "antrea/antrea-$app:ours"
        }
    done
    rm -rf "$place" "$place.new"
    mkdir -p "$place.new"
    cp -r "$source/charts/antrea" "$place.new/chart"
    docker save -o "$place.new/images.tar" "${made[@]}"
    mv "$place.new" "$place"
}

if [ ! -d "$place" ]; then
    git -C "$REPO" cat-file -e "$commit^{commit}" 2>/dev/null ||
        fail "commit $commit of release $name is not in this clone" "fetch the whole history: git fetch --unshallow"
    "$TOOLS/cluster/start-docker.sh"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    step "release $name" build
fi
printf '%s\n' "$place"
