import { type Family, type IpAddress, type Prefix } from "@antrea/ip";
import { type Scope } from "./choice.ts";
import { type Endpoint } from "./endpoints.ts";
import { type AddressKind } from "./planned-addresses.ts";
import { type Problem } from "./problem.ts";
import { type LoadBalancerMode } from "./settings.ts";
import { type Protocol } from "./triple.ts";

/** Which endpoints clients get: those inside, which are the Node itself and its Pods, and all others. */
export interface ClientScopes {
    readonly inside: Scope;
    readonly outside: Scope;
}

/** An address at which a port of a Service is served. */
export interface ServedAddress extends ClientScopes {
    readonly kind: AddressKind;
    readonly ip: IpAddress;
}

/** A port at which a Service is served on the Node's own addresses. */
export interface ServedNodePort extends ClientScopes {
    readonly port: number;
}

/** A port of a Service in one family: where it is served, and with which endpoints. */
export interface ServedPort {
    /** "" if the Service has one port without a name. */
    readonly name: string;
    readonly family: Family;
    readonly protocol: Protocol;
    readonly port: number;
    /** At least one, or a NodePort; no other Service is served at one of them with this protocol and port. */
    readonly addresses: readonly ServedAddress[];
    readonly nodePort: ServedNodePort | undefined;
    /**
     * Sorted by address and port. If `cluster` is empty, connections are rejected; if only `local` is, they are dropped
     * where the scope is `local`.
     */
    readonly endpoints: Readonly<Record<Scope, readonly Endpoint[]>>;
    /**
     * All endpoints that are ready, or serve while they terminate: whatever policies, hints and the state of others say of
     * new connections, those that go to one of these go on. Sorted by address and port.
     */
    readonly serving: readonly Endpoint[];
    /** Applies to clients outside, at all addresses but ClusterIPs. */
    readonly mode: LoadBalancerMode;
    /** Clients of the addresses of kind `loadBalancer`, of this family; undefined: all, empty: none. */
    readonly sourceRanges: readonly Prefix[] | undefined;
}

/** What a health check of a load balancer asks for (`spec.healthCheckNodePort`). */
export interface ServedHealthCheck {
    readonly port: number;
    /** Number of ready endpoints on the Node. */
    readonly localEndpoints: number;
}

/** What is served of a Service. */
export interface ServedService {
    /** `namespace/name`. */
    readonly key: string;
    readonly uid: string;
    /** Connections of a client go to one endpoint until there was no new one for so many seconds, 1 to 65535. */
    readonly affinitySeconds: number | undefined;
    /** For each port of the Service and each family. */
    readonly ports: readonly ServedPort[];
    readonly healthCheck: ServedHealthCheck | undefined;
    readonly problems: readonly Problem[];
}
