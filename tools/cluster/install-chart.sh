#!/usr/bin/env bash
# Installs the chart on a local cluster, or upgrades it, with the images built here.
#   install-chart.sh CLUSTER [HELM-OPTION...]
#   CHART=DIRECTORY TAG=TAG     the chart and the images of another release, which the Nodes have
. "$(dirname "$0")/../lib.sh"
cluster=$1
shift
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$cluster")
CHART=${CHART:-$REPO/charts/antrea} TAG=${TAG:-dev}
images=()
for part in agent controller webhook; do
    # a release may not have all of them yet
    grep -q "^${part}Image:" "$CHART/values.yaml" || continue
    images+=(--set "${part}Image.tag=$TAG")
    # The image id as annotation: a new image under the same tag restarts the Pods.
    if [ "$TAG" = dev ]; then
        id=$(docker image inspect --format '{{.Id}}' "antrea/antrea-$part:dev" | cut -c 8-23)
        images+=(--set-string "$part.podAnnotations.image-id=$id")
    fi
done
# Where no kube-proxy runs, Services are AntreaProxy's, and its own way to the API server is none of them.
proxy=()
kube_proxy=$(kubectl --context "kind-$cluster" -n kube-system get daemonset kube-proxy --ignore-not-found -o name)
[ -n "$kube_proxy" ] || proxy=(--set antreaProxy.proxyAll=true --set "kubeAPIServerOverride=https://$cluster-control-plane:6443")
install() {
    helm upgrade --install antrea "$CHART" --kube-context "kind-$cluster" --namespace kube-system \
        --set trafficEncapMode=noEncap \
        --set ovs.datapathType=netdev \
        --set disableTXChecksumOffload=true \
        --set nodeIPAM.enable=true \
        --set 'nodeIPAM.clusterCIDRs={10.244.0.0/16,fd00:10:244::/56}' \
        --set nodeIPAM.serviceCIDR=10.96.0.0/16 \
        --set nodeIPAM.serviceCIDRv6=fd00:10:96::/112 \
        "${proxy[@]}" "${images[@]}" --wait --timeout 5m "$@"
}
step "helm upgrade --install antrea on $cluster" install "$@"
