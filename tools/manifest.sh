#!/usr/bin/env bash
# Writes dist/antrea.yml: the chart rendered for `kubectl apply -f`, in Namespace kube-system.
#   manifest.sh [HELM-OPTION...]     e.g. --set agentImage.repository=registry.example.org/antrea-agent
. "$(dirname "$0")/lib.sh"
"$TOOLS/cluster/build-programs.sh" helm
mkdir -p "$REPO/dist"
# Who installs it edits ConfigMap antrea-config, where bridging mode may be switched on: antrea-ovs then gives the Node its
# interface back, which takes its sysctls.
helm template antrea "$REPO/charts/antrea" --namespace kube-system --kube-version 1.33.0 \
    --set agent.antreaOVS.securityContext.privileged=true "$@" >"$REPO/dist/antrea.yml.part"
mv "$REPO/dist/antrea.yml.part" "$REPO/dist/antrea.yml"
echo "dist/antrea.yml: kubectl apply -f dist/antrea.yml"
