import type { LifecyclePart } from "@antrea/runtime";
import type { Feature } from "../../platform/feature.ts";
import { isNodeNetns } from "../../platform/host/node-netns.ts";
import type { Platform } from "../../platform/platform.ts";
import { podUidOf } from "../../platform/pod-object.ts";
import type { AddressBackend } from "./address-calls.ts";
import { createCniBackend, type CheckWiring, type PodWiring } from "./backend.ts";
import { CniCalls } from "./calls.ts";
import { conflistText, networkNameOf, type Conflist, type ConflistOptions } from "./conflist/index.ts";
import type { ErrorCodeOf } from "./error-code.ts";
import { leavesForGood } from "./leaves-for-good.ts";
import { observeCalls } from "./metrics.ts";
import type { NetworkBackend } from "./network-calls.ts";
import { netnsPathHere } from "./netns-path.ts";
import { RefusedAdds } from "./refused-adds.ts";
import type { CniServer } from "./server.ts";

const resyncMs = 60_000;

/** What accesses files and sockets of the Node. */
export interface CniNodeParts {
    readonly conflist: (options: ConflistOptions) => Pick<Conflist, "write" | "remove">;
    /** Builds the server for CNI calls. */
    readonly cniServer: (
        calls: Pick<CniCalls, "call">,
        options: { readonly socketPath: string },
    ) => Pick<CniServer, "start" | "stop">;
}

/** The Pod network that executes the calls. */
export interface ServedPods {
    readonly network: PodWiring;
    readonly check: CheckWiring;
    /** Undefined if the feature gate AntreaIPAM is off. */
    readonly addresses: AddressBackend | undefined;
    /** Undefined if the agent makes no interfaces on other networks. */
    readonly networks: NetworkBackend | undefined;
    /**
     * Calls the listener once the Services are in OVS, for Nodes without another proxy: there a Pod that starts earlier
     * reaches none. Undefined if nothing is to be waited for.
     */
    readonly onServices: ((listener: () => void) => void) | undefined;
}

/** The CNI server. Until there is a Pod network, calls wait or report that. */
export interface CniFeature {
    /**
     * The server, which listens from its start. At the stop calls in progress end while everything that they need still
     * runs.
     */
    readonly part: LifecyclePart;
    /**
     * The feature that executes the calls with this Pod network from its start, and maintains the CNI configuration of
     * the Node, which it removes at its stop only if the DaemonSet was deleted. To be called once.
     */
    serve(pods: ServedPods): Feature;
}

/** A new Node gets its CNI configuration so long after the start at the latest, with or without Services in OVS. */
const servicesLimitMs = 30_000;

function once(work: () => void): () => void {
    let isDone = false;
    return () => {
        if (!isDone) work();
        isDone = true;
    };
}

/**
 * Builds the CNI server and declares its metrics; it listens when `part` starts.
 *
 * @param errorCodes the CNI error codes of the Pod network's errors
 */
export function cniServer(platform: Platform, parts: CniNodeParts, errorCodes: readonly ErrorCodeOf[]): CniFeature {
    const { clock, config, environment, events, jobs, kube, metrics, readiness } = platform;
    const logger = platform.logger.child("cni-server");
    const content = environment.conflist ?? conflistText({ portmap: true, bandwidth: true });
    const conflist = parts.conflist({
        folder: environment.cniConfFolder,
        name: "10-antrea.conflist",
        content,
        mode: environment.cniConfMode,
    });
    let served: ServedPods | undefined;
    let late: Disposable | undefined;
    const backend = createCniBackend({
        readiness,
        network: () => served?.network,
        addresses: platform.gates.enabled("AntreaIPAM") ? () => served?.addresses : undefined,
        networks: platform.gates.enabled("SecondaryNetwork") ? () => served?.networks : undefined,
        check: async (known, input) => served?.check(known, input),
        errorCodes,
        netnsPath: (path) => netnsPathHere(path, config.hostProcPathPrefix),
        networkName: networkNameOf(content),
        isNodeNetns: (path) => isNodeNetns(path, config.hostProcPathPrefix),
        podUid: (namespace, name) => podUidOf(kube.api, namespace, name),
    });
    const refusedAdds = new RefusedAdds({ kube, events, logger });
    const calls = new CniCalls({
        backend,
        logger,
        observe: observeCalls(metrics),
        refused: (...refusal) => void refusedAdds.report(...refusal),
        now: () => clock.monotonic(),
    });
    const server = parts.cniServer(calls, { socketPath: config.cniSocket });
    return {
        part: { name: "cni-server", start: () => server.start(), preStop: () => server.stop() },
        serve: (pods) => ({
            name: "cni-server",
            start: () => {
                served = pods;
                backend.networkBuilt();
                const write = once(() => void jobs.every("cni-server/conflist", resyncMs, () => conflist.write()));
                if (pods.onServices === undefined) return write();
                pods.onServices(write);
                late = clock.after(servicesLimitMs, write);
            },
            stop: async ({ startFailed } = { startFailed: false }) => {
                late?.[Symbol.dispose]();
                // A start may fail because the API server rejects the agent, which then is no sign of an uninstall.
                if (startFailed) return;
                if (!(await leavesForGood(kube, environment.podNamespace, { logger: platform.logger, clock }))) return;
                await conflist.remove();
                platform.logger.info("the DaemonSet was deleted: the CNI configuration is removed from this Node");
            },
        }),
    };
}
