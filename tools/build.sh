#!/usr/bin/env bash
# Builds the apps and then their images. Nx and the images' own check leave alone what has not changed.
. "$(dirname "$0")/lib.sh"
build_apps() { (cd "$REPO" && npx --no-install nx run-many -t build --outputStyle=static); }
step "nx build" build_apps
"$TOOLS/cluster/build-programs.sh" cni-plugins
"$TOOLS/images/build.sh"
