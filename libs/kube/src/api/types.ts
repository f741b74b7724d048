import { type CoreV1Event } from "@kubernetes/client-node/dist/gen/models/CoreV1Event.js";
import { type EventsV1Event } from "@kubernetes/client-node/dist/gen/models/EventsV1Event.js";
import { type V1ConfigMap } from "@kubernetes/client-node/dist/gen/models/V1ConfigMap.js";
import { type V1CronJob } from "@kubernetes/client-node/dist/gen/models/V1CronJob.js";
import { type V1DaemonSet } from "@kubernetes/client-node/dist/gen/models/V1DaemonSet.js";
import { type V1Deployment } from "@kubernetes/client-node/dist/gen/models/V1Deployment.js";
import { type V1EndpointSlice } from "@kubernetes/client-node/dist/gen/models/V1EndpointSlice.js";
import { type V1Lease } from "@kubernetes/client-node/dist/gen/models/V1Lease.js";
import { type V1Namespace } from "@kubernetes/client-node/dist/gen/models/V1Namespace.js";
import { type V1Node } from "@kubernetes/client-node/dist/gen/models/V1Node.js";
import { type V1ObjectMeta } from "@kubernetes/client-node/dist/gen/models/V1ObjectMeta.js";
import { type V1Pod } from "@kubernetes/client-node/dist/gen/models/V1Pod.js";
import { type V1ReplicaSet } from "@kubernetes/client-node/dist/gen/models/V1ReplicaSet.js";
import { type V1Secret } from "@kubernetes/client-node/dist/gen/models/V1Secret.js";
import { type V1Service } from "@kubernetes/client-node/dist/gen/models/V1Service.js";
import { type V1ServiceCIDR } from "@kubernetes/client-node/dist/gen/models/V1ServiceCIDR.js";
import { type V1StatefulSet } from "@kubernetes/client-node/dist/gen/models/V1StatefulSet.js";
import { type V1SubjectAccessReview } from "@kubernetes/client-node/dist/gen/models/V1SubjectAccessReview.js";
import { type V1TokenReview } from "@kubernetes/client-node/dist/gen/models/V1TokenReview.js";
import { type V1ValidatingWebhookConfiguration } from "@kubernetes/client-node/dist/gen/models/V1ValidatingWebhookConfiguration.js";

/** The JSON form of an API type: read-only, times as RFC 3339 text. */
export type Json<T> = T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? readonly Json<Item>[]
      : T extends object
        ? { readonly [Key in keyof T]: Json<T[Key]> }
        : T;

/** Metadata of an API object (metav1.ObjectMeta) in its JSON form. */
export type ObjectMeta = Json<V1ObjectMeta>;

/** The fields that all API objects have; a type of objects extends it. */
export interface KubeObject {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly metadata?: ObjectMeta;
}

export type ConfigMap = Json<V1ConfigMap>;

/** An Event of core/v1. */
export type CoreEvent = Json<CoreV1Event>;

export type CronJob = Json<V1CronJob>;

export type DaemonSet = Json<V1DaemonSet>;

export type Deployment = Json<V1Deployment>;

/** An EndpointSlice of discovery.k8s.io/v1. */
export type EndpointSlice = Json<V1EndpointSlice>;

/** An Event of events.k8s.io/v1, which `events` maps. */
export type KubeEvent = Json<EventsV1Event>;

export type Lease = Json<V1Lease>;

export type Namespace = Json<V1Namespace>;

export type Node = Json<V1Node>;

export type Pod = Json<V1Pod>;

export type Secret = Json<V1Secret>;

export type Service = Json<V1Service>;

export type ServiceCidr = Json<V1ServiceCIDR>;

/** A network of the Network Plumbing Working Group (k8s.cni.cncf.io/v1). */
export interface NetworkAttachmentDefinition extends KubeObject {
    /** `config` is the text of a CNI network configuration. */
    readonly spec?: { readonly config?: string };
}

export type ReplicaSet = Json<V1ReplicaSet>;

export type StatefulSet = Json<V1StatefulSet>;

export type SubjectAccessReview = Json<V1SubjectAccessReview>;

export type TokenReview = Json<V1TokenReview>;

export type ValidatingWebhookConfiguration = Json<V1ValidatingWebhookConfiguration>;
