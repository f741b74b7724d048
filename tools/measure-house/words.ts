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
 * Files with names that users have typed or scraped, or that are compared with results of earlier releases: aliases of
 * jobs, antctl's JSON and rules, the benchmarks' IDs and the files named after these.
 */
const notClaimNames =
    /^(?!docs\/upgrading\.md$|apps\/agent\/src\/platform\/former-job-names\.ts$|apps\/antctl\/(src|test)\/(check|who)\/|tools\/bench\/(benchmarks\/claims(-at-rest)?|charts\/charts|main|methods|reasons|test\/charts\.test)\.ts$)/;

/**
 * Names in which "claim" is a noun: `FakeClaims`, `claimKind`, `claims.values()`, `claim: IpAllocation`,
 * `claim.metadata`, `function claim(…): IpAllocation`, `forced-claims.ts`, `CLAIMS_UNKNOWN`. Left out are the verb (`claim(…)`,
 * `claimForNetwork`, `claimed`), Kubernetes' own kinds, the reason `ClaimsOutsidePools` of events and IDs of benchmarks
 * (`claims-open-p99`).
 */
const claimName = new RegExp(
    String.raw`\b\w+(?<!Volume|Resource|Device)Claims?(?![a-z])\w*|\b(?!ClaimsOutsidePools\b)Claims?[A-Z]\w*` +
        String.raw`|\bclaims?(Kind|Of|Json|Path|Name|Count|Limit|Changed|List|Index|Id|s?ById)\w*|\b(network|address|list)-claims\b` +
        String.raw`|\b(const|let|readonly|using) (claims|_claims|claim(?= = (?!async|\(|allocator\.claim)|: (?!async)))\b` +
        String.raw`|(?<![\w.])claim: (Ip)?Allocation\b|(?<!["'\x60\w.])claim\??\.(spec|metadata|pod|ip|owner)\b|\bclaims(\??\.\w|: )|\.claims\b|\(claims\)|[{[] ?claims\b|, claims(?= \})` +
        String.raw`|\bfunction claim(?!ed)\w*\([^)]*\): (readonly )?IpAllocation` +
        String.raw`|\b[\w-]+-claims?(?=(\.test|\.integration|\.e2e)?\.ts\b)|\bclaims?(-[a-z]+)*(?=(\.test|\.integration|\.e2e)?\.ts\b)` +
        String.raw`|\bCLAIMS?(_\w+)?\b`,
    "g",
);

/** Claims that exist, come, go or are counted, and not an agent that claims. */
const claimsInText =
    /(?<![`"'-])\bclaims\b(?= (of|are|were|have|come|came|that|with|from|while|never|in (a|the|pod\w*))\b)|\bdescribe\("claims\b|\b(of|all|all the|failed|many|for|with|few|\d[\d,]*) claims\b(?! (a|an|the|its)\b)/g;

/** Verbs of human action in titles of tests and in names, whatever their subject is. */
const toldInTests = new RegExp(
    String.raw`\("(says?|tells?|looks(?! up)) |\b(and|,|it|that|which|be) (says|tells) (so|it|what|which|who|whose|how|when|why|where|that|of|nothing)\b` +
        String.raw`|\b(and|,|unless|once|never|when) told\b|\btold (on|once|to end|with)\b|\b(is|are|was|were) said\b` +
        String.raw`|\b(const|let) (told|said)\b|\b(says|tells|told|said|look)(At|For|Of|So|Nothing|Ms)\w*|\b[a-z]+(Says|Tells|Told|Said)\b`,
    "g",
);

/**
 * Applied to identifiers, comments, strings and documents: invented names for which the field has a term, and verbs
 * of human action with a program or an object as their subject. Each pattern is as narrow as possible.
 */
export const terms: readonly Term[] = [
    {
        instead: "node route, PeerRoute, KernelRoutes",
        pattern:
            /\b(Peer|Kernel|Service|[Aa]ll)Ways?\b|\bways?To[A-Z]\w*|\b(kernel|service)-ways?\b|\bways-wiring\b|\bways? to (the Pods|each Node|other Nodes|Nodes|podCIDRs|peers)\b/g,
        where: notFormerNames,
    },
    { instead: "BootContext", pattern: /\bWhereabouts\b|\bwhereaboutsOf\b|\bwhereabouts\.ts\b/g },
    {
        instead: "allocation; claim is the verb for the create that takes an address",
        pattern:
            /\b(the|an?|its|their|each|no|this|own|every|held|with|without|another's)( own| late| new| old| other| unused)? claims?\b(?! (by|it|them|an?|the|its|addresses|at once|anew) )/gi,
        where: notClaimNames,
    },
    { instead: "allocation, in names", pattern: claimName, where: notClaimNames },
    { instead: "allocations, in sentences", pattern: claimsInText, where: notClaimNames },
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
        pattern:
            /\bnot looked at\b|\b(is|are|was|were|been|be) looked (at|through)\b|\blook\(|\b(?!over|out)[a-z]+Looks?(Ms)?\b|\b(an?|the|each|every|next|first|last|second|third|later|live|no|by|after|between) look\b|\b(two|both|many|several|\d+|\d\}|\w+\}) looks\b|\blook(s|ing) again\b|\b(const|let|interface|type) looks?\b/gi,
    },
    {
        instead: "report, log, return",
        pattern: new RegExp(
            `\\b(${thing}) (tells?|told|says?|said|looks?|lets? go)\\b(?! like)|\\b(is|are|was|were|be|been|not) told\\b|` +
                `\\b(lets?|letting) go of\\b|\\bletGo\\w*|#(tell|told|say|said)\\b|\\b(told|said)\\b(?=[?]?[:;] )`,
            "g",
        ),
    },
    { instead: "report, log, check, in titles and names", pattern: toldInTests },
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

/** How often each term occurs in the file at `path`, its text and its name, including terms that do not occur. */
export function countTerms(text: string, path = ""): Found[] {
    const both = `${path}\n${text}`;
    return terms.map((term) => ({
        term,
        count: term.where?.test(path) === false ? 0 : (both.match(term.pattern)?.length ?? 0),
    }));
}
