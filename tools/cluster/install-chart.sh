#!/usr/bin/env bash
# Installs the chart on a local cluster, or upgrades it, with the images built here.
#   install-chart.sh CLUSTER [HELM-OPTION...]
. "$(dirname "$0")/../lib.sh"
cluster=$1
shift
export KUBECONFIG
KUBECONFIG=$(kubeconfig_of "$cluster")
# The image id as annotation: a new image under the same tag restarts the Pods.
id_of() { docker image inspect --format '{{.Id}}' "$1" | cut -c 8-23; }
install() {
    helm upgrade --install antrea "$REPO/charts/antrea" --kube-context "kind-$cluster" --namespace kube-system \
        --set trafficEncapMode=noEncap \
        --set ovs.datapathType=netdev \
        --set disableTXChecksumOffload=true \
        --set nodeIPAM.enable=true \
        --set 'nodeIPAM.clusterCIDRs={10.244.0.0/16,fd00:10:244::/56}' \
        --set nodeIPAM.serviceCIDR=10.96.0.0/16 \
        --set nodeIPAM.serviceCIDRv6=fd00:10:96::/112 \
        --set agentImage.tag=dev,controllerImage.tag=dev,webhookImage.tag=dev \
        --set-string "agent.podAnnotations.image-id=$(id_of antrea/antrea-agent:dev)" \
        --set-string "controller.podAnnotations.image-id=$(id_of antrea/antrea-controller:dev)" \
        --set-string "webhook.podAnnotations.image-id=$(id_of antrea/antrea-webhook:dev)" \
        --wait --timeout 5m "$@"
}
step "helm upgrade --install antrea on $cluster" install "$@"
