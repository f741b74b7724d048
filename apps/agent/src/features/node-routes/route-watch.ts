import type { Netlink, NetlinkEvent, Route } from "@antrea/netlink";

/** Settings of RouteWatch. */
export interface RouteWatchOptions {
    /** `rtm_protocol` of the routes to watch. */
    readonly protocols: readonly number[];
    /** When this link goes down, the kernel removes its routes without a notification. */
    readonly linkName: string;
    /** Whether a deleted route should exist; false for one that the agent itself deleted. */
    readonly isWanted: (route: Route) => boolean;
}

/**
 * Detects that routes of the agent may be gone: another program deleted one, their link went down, or events were lost.
 * Watches from construction until it is disposed; its owner polls `take` and repairs them.
 */
export class RouteWatch implements Disposable {
    readonly #options: RouteWatchOptions;
    readonly #events: Disposable;
    readonly #stirred = new Set<number>();
    /** The ifindex of the link while it is up; -1 while it is down or missing. */
    #upIndex: number | undefined;

    constructor(components: { readonly netlink: Pick<Netlink, "subscribe"> }, options: RouteWatchOptions) {
        this.#options = options;
        this.#events = components.netlink.subscribe(["route", "link"], (event) => {
            for (const protocol of this.#concerned(event)) this.#stirred.add(protocol);
        });
    }

    /** The protocols (`rtm_protocol`) whose routes may be gone since the last call; empty if none. */
    take(): ReadonlySet<number> {
        const taken = new Set(this.#stirred);
        this.#stirred.clear();
        return taken;
    }

    /** Ends the watch. */
    [Symbol.dispose](): void {
        this.#events[Symbol.dispose]();
    }

    #concerned(event: NetlinkEvent): readonly number[] {
        const { protocols, linkName, isWanted } = this.#options;
        switch (event.type) {
            case "route":
                return event.deleted && protocols.includes(event.route.protocol) && isWanted(event.route)
                    ? [event.route.protocol]
                    : [];
            case "link":
                return event.link.name === linkName && this.#isChange(event) ? protocols : [];
            default:
                // Lost events may have concerned the routes.
                return protocols;
        }
    }

    /** Ignores events of the link unless it went up or down, or was recreated. */
    #isChange({ deleted, link }: Extract<NetlinkEvent, { type: "link" }>): boolean {
        const upIndex = deleted || !link.up ? -1 : link.index;
        const isChange = upIndex !== this.#upIndex;
        this.#upIndex = upIndex;
        return isChange;
    }
}
