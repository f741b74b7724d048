/** Unwanted wording, and its replacement. */
export interface Term {
    readonly instead: string;
    readonly pattern: RegExp;
    /** Paths of the files in which it is unwanted; all files if absent. */
    readonly where?: RegExp;
}

/** Sentence subjects that report, log or return something rather than tell it. */
const thing =
    "agents?|allocations?|antctl|API servers?|answers?|annotations?|claims?|columns?|conditions?|controllers?|databases?|" +
    "errors?|events?|flows?|informers?|it|journals?|kernels?|kubelets?|links?|logs?|messages?|metrics?|Nodes?|one|OVS|" +
    "ovs-vswitchd|pages?|Pods?|policy|pools?|programs?|records?|rows?|runtimes?|server|source|status|summary|sysfs|tables?|" +
    "that|this|watch|watches|webhook|what|which";

/** Files with earlier names of jobs, which stay as aliases for one release. */
const notFormerNames = /^(?!docs\/upgrading\.md$|apps\/agent\/src\/platform\/former-job-names\.ts$)/;

/**
 * Applied to identifiers, comments, strings and documents: invented names for which the field has a term, and verbs
 * of human action with a program or an object as their subject. Each pattern is as narrow as possible.
 */
export const terms: readonly Term[] = [
    {
        instead: "node route, PeerRoute, KernelRoutes",
        pattern:
            /\b(Peer|Kernel|Service)Ways?\b|\bways?To[A-Z]\w*|\b(kernel|service)-ways?\b|\bways-wiring\b|\bways? to (the Pods|each Node|other Nodes|Nodes|podCIDRs|peers)\b/g,
        where: notFormerNames,
    },
    { instead: "BootContext", pattern: /\bWhereabouts\b|\bwhereaboutsOf\b|\bwhereabouts\.ts\b/g },
    {
        instead: "allocation; claim is the verb for the create that takes an address",
        pattern:
            /\b(the|an?|its|their|each|no|this|own|every|held|with|without|another's)( own| late| new| old| other)? claims?\b(?! (by|it|them|an?|the|its|addresses|at once|anew) )/gi,
    },
    { instead: "NetworkAllocations, AddressAllocations", pattern: /\b([Nn]etwork|[Aa]ddress)(Claims|-claims)\b/g },
    { instead: "cluster, platform, fixture", pattern: /\b([a-z]+-)?world\b|\b([A-Z][a-z]+)?World\b/g },
    { instead: "AddressRequest", pattern: /\b(Pool)?[Ww]ish(es|Of|Address)?\b/g },
    { instead: "AddressAllocation", pattern: /\b(Pool|Address)Grants?\b/g },
    { instead: "Notify, notify", pattern: /\bBells?\b|\bbell\b|\.ring\(/g },
    { instead: "Mutex", pattern: /\bTurns?\b(?=[(<;])/g },
    { instead: "Cache, Index or Allocator", pattern: /\b[A-Z][A-Za-z]+Book\b|\b[a-z]+-book\b/g },
    { instead: "rollback", pattern: /\bWayBack\b|\b[Ww]ay-?[Bb]ack\b|\bways? back\b/g },
    { instead: "connectivity probe", pattern: /\b[Ww]itness(es)?\b/g },
    {
        instead: "check, poll or sync",
        pattern: /\bnot looked at\b|\blook\(|\b[a-z]+Looks?(Ms)?\b|\b(a|each|next|first|last|every) look\b/g,
    },
    {
        instead: "report, log, return",
        pattern: new RegExp(
            `\\b(${thing}) (tells?|told|says?|said|looks?|lets? go)\\b(?! like)|\\b(is|are|was|were|be|been|not) told\\b|` +
                `\\blet go of\\b|#(tell|told|say|said)\\b|\\b(told|said)\\b(?=[?]?[:;] )`,
            "g",
        ),
    },
    {
        instead: "tunnelFamily, PeerContext",
        pattern: /\bUnderlay\b(?=[;,)])|\bunderlayOf\b|\bunderlay(?=\(\)|: (Family|\(\) =>))|\btransport\.underlay\b/g,
        where: /^apps\/agent\//,
    },
    { instead: "isolate, isolated", pattern: /\b(is)?[cC]ut(s|ting)?Off\b|\bcuts? off\b/g, where: notFormerNames },
    { instead: "host input filter", pattern: /\bhost-?[gG]uard\b|\bHostGuard\b/g, where: notFormerNames },
    { instead: "node address reservation", pattern: /\bNodeHolds?\b|\bnode-holds?\b/g },
    {
        instead: "settleAll, vswitchd-ack, cached-node",
        pattern: /\ballDone\b|\ball-done\b|\bcarriedOut\b|\bcarried-out\b/g,
    },
    { instead: "isRetryable, retryUntilAnswered", pattern: /\bisPassing\b|\buntilAnswered\b/g },
    { instead: 'fault "remote"', pattern: /(?<=fault: |fault: .*\| |Error\(.*, )"peer"/g },
    {
        instead: "workers, seeded bugs, users, faults, transport, cluster",
        pattern: /\b[Cc]rews?\b|\b[Pp]lant(s|ed)?\b|\b[Pp]eople\b|\b[Aa]ccidents?\b/g,
        where: /^(apps\/agent|tools\/(simulate|bench|fuzz)|docs)\//,
    },
    { instead: "HttpsServer", pattern: /\bHealthServer\b/g },
    {
        instead: "the right column of the messages",
        pattern:
            /shows and explains|what nothing stops|the address that it wants|be another's by now|nobody said what|as the Node had it|kept from the Node's stack/g,
    },
];

export interface Found {
    readonly term: Term;
    readonly count: number;
}

/** How often each term occurs in a text of the file at `path`, including terms that do not occur. */
export function countTerms(text: string, path = ""): Found[] {
    return terms.map((term) => ({
        term,
        count: term.where?.test(path) === false ? 0 : (text.match(term.pattern)?.length ?? 0),
    }));
}
