#!/usr/bin/env bash
# Pushes the images of antrea-agent, antrea-controller and antrea-webhook to a registry, and prints the flags by which helm
# installs them from there.
#   REGISTRY=registry.example.com/antrea [TAG=0.1.0] push.sh
# `docker login` comes first where the registry asks for it.
. "$(dirname "$0")/../lib.sh"
example="make push REGISTRY=registry.example.com/antrea"
[ -n "${REGISTRY:-}" ] || fail "REGISTRY is not set" "name the registry and the path of the images in it: $example"
[[ $REGISTRY != */ && $REGISTRY != *://* ]] ||
    fail "REGISTRY is $REGISTRY" "write it without https:// and without a / at its end: $example"
tag=${TAG:-$(sed -nE 's/^appVersion: "(.+)"$/\1/p' "$REPO/charts/antrea/Chart.yaml")}
flags=()
for app in agent controller webhook; do
    image=$REGISTRY/antrea-$app:$tag
    docker tag "antrea/antrea-$app:dev" "$image"
    step "push $image" docker push "$image"
    flags+=(--set "${app}Image.repository=$REGISTRY/antrea-$app" --set "${app}Image.tag=$tag")
done
echo "helm upgrade --install antrea charts/antrea --namespace kube-system \\"
printf '  %s %s \\\n' "${flags[@]}"
echo "  …  # and the values of your cluster (README.md)"
