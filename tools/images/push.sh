#!/usr/bin/env bash
# Builds the three images as `make image` does, pushes them to a registry, and prints the values that make the chart use
# them. The tag is the chart's default, the version of its app, unless TAG names another one.
#   REGISTRY=registry.example.com/team [TAG=TAG] push.sh
. "$(dirname "$0")/../lib.sh"
example="make push REGISTRY=registry.example.com/team"
registry=${REGISTRY:-}
registry=${registry%/}
[ -n "$registry" ] || fail "REGISTRY is not set: it names the registry, and the folder in it, that the images go to" "for example: $example"
# Refused before the build, which takes minutes.
[[ $registry =~ ^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)*$ ]] ||
    fail "REGISTRY=$registry is no registry with folders: HOST[:PORT][/FOLDER...], without a scheme such as https://" "for example: $example"
default=$(sed -nE 's/^appVersion: "?([^" ]+)"?$/\1/p' "$REPO/charts/antrea/Chart.yaml")
tag=${TAG:-$default}
[[ $tag =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$ ]] ||
    fail "TAG=$tag is no tag of an image: up to 128 letters, digits, dots, hyphens and underscores" "for example: $example TAG=$default-1"

push() {
    docker tag "$1" "$2"
    docker push "$2" || {
        echo "Is the registry there, and may you write to it? 'docker login ${registry%%/*}' tells Docker who you are."
        return 1
    }
}

"$TOOLS/setup/bootstrap.sh"
"$TOOLS/build.sh"
for app in agent controller webhook; do
    step "push $registry/antrea-$app:$tag" push "antrea/antrea-$app:dev" "$registry/antrea-$app:$tag"
done
# --set-string: a tag of digits stays a text
echo "Install with these values (README.md):"
for app in agent controller webhook; do
    printf '  --set-string %sImage.repository=%s,%sImage.tag=%s' "$app" "$registry/antrea-$app" "$app" "$tag"
    [ "$app" = webhook ] && echo || echo " \\"
done
