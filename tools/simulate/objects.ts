import { type IpPool } from "@antrea/crd";
import {
    networkAttachmentDefinitions,
    type Deployment,
    type NetworkAttachmentDefinition,
    type Pod,
    type StatefulSet,
} from "@antrea/kube";
import { kindOf } from "./api/server.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";

const podKind = kindOf("v1", "pods");
const deploymentKind = kindOf("apps/v1", "deployments");
const setKind = kindOf("apps/v1", "statefulsets");
const networkKind = kindOf("k8s.cni.cncf.io/v1", networkAttachmentDefinitions.plural);
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");

/** All Pods that the API server has now, in no particular order; so are the others. */
export function podsOf({ server }: SimulatedCluster): readonly Pod[] {
    return [...server.store.all(podKind)].map(({ object }) => object as Pod);
}

/** All Deployments. */
export function deploymentsOf({ server }: SimulatedCluster): readonly Deployment[] {
    return [...server.store.all(deploymentKind)].map(({ object }) => object as Deployment);
}

/** All StatefulSets. */
export function setsOf({ server }: SimulatedCluster): readonly StatefulSet[] {
    return [...server.store.all(setKind)].map(({ object }) => object as StatefulSet);
}

/** All IPPools. */
export function poolsOf({ server }: SimulatedCluster): readonly IpPool[] {
    return [...server.store.all(poolKind)].map(({ object }) => object as IpPool);
}

/** All networks. */
export function networksOf({ server }: SimulatedCluster): readonly NetworkAttachmentDefinition[] {
    return [...server.store.all(networkKind)].map(({ object }) => object as NetworkAttachmentDefinition);
}
