import type { Netlink, NetlinkEvent, Route } from "@antrea/netlink";

export interface RouteWatchOptions {
    /** `rtm_protocol` of the routes to watch. */
    readonly protocols: readonly number[];
    /** With this link's going down the kernel takes its routes away without a word. */
    readonly linkName: string;
    /** Whether a route that was deleted should be there; one that the agent itself deleted should not. */
    readonly isWanted: (route: Route) => boolean;
}

/** Notices that routes of the agent may have gone: somebody deleted one, or their link went down. */
export class RouteWatch implements Disposable {
    readonly #options: RouteWatchOptions;
    readonly #events: Disposable;
    readonly #stirred = new Set<number>();
    /** The index of the link when it is up; -1 when it is not, or gone. */
    #upIndex: number | undefined;

    constructor(components: { readonly netlink: Pick<Netlink, "subscribe"> }, options: RouteWatchOptions) {
        this.#options = options;
        this.#events = components.netlink.subscribe(["route", "link"], (event) => {
            for (const protocol of this.#concerned(event)) this.#stirred.add(protocol);
        });
    }

    /** The protocols of which routes may have gone since the last call. */
    take(): ReadonlySet<number> {
        const taken = new Set(this.#stirred);
        this.#stirred.clear();
        return taken;
    }

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
                // events that were lost may have been about them
                return protocols;
        }
    }

    /** Not every event of the link: it went up or down, or came anew. */
    #isChange({ deleted, link }: Extract<NetlinkEvent, { type: "link" }>): boolean {
        const upIndex = deleted || !link.up ? -1 : link.index;
        const isChange = upIndex !== this.#upIndex;
        this.#upIndex = upIndex;
        return isChange;
    }
}
