/** Wording that the project does not use, and what it says instead. */
export interface Term {
    readonly instead: string;
    readonly pattern: RegExp;
}

/** In identifiers, comments, texts and documents; the patterns know the words by their neighbours where they have others. */
export const terms: readonly Term[] = [
    {
        instead: "route, node route",
        pattern:
            /\b(peer|kernel|service)[ -]?ways?\b|\bways?-wiring\b|\bways? to (the|a|each|other) (Pods?|Nodes?|podCIDRs?|peers?)\b/gi,
    },
    { instead: "BootContext", pattern: /\bwhereabouts(Of)?\b/g },
    { instead: "AddressRequest", pattern: /\b(Pool)?wish(es|Of)?\b|\bPoolWish\b/gi },
    { instead: "AddressAllocation", pattern: /\b(Pool|Address)Grants?\b|\bgrants? of (a|an|the) (pool|address)\b/g },
    { instead: "Notify, notify", pattern: /\bBell\b|\bbells?\b|\b(rings?|rung|rang)\b/g },
    { instead: "Mutex", pattern: /\bTurn\b|\binTurn\b/g },
    { instead: "Cache, Index or Allocator", pattern: /\b[A-Z][A-Za-z]*Books?\b/g },
    { instead: "rollback", pattern: /\bWayBack\b|\bway-back\b|\bways? back\b/gi },
    { instead: "connectivity probe", pattern: /\bwitness(es)?\b/gi },
    { instead: "check, poll or sync", pattern: /\blook\(|\b[a-z]+Look(s|Ms)?\b|\ba look\b/g },
    {
        instead: "report, lastLogged, onChange",
        pattern: /\b(is|are|was|were|be|been) (told|said)\b|\b(tells?|says?)\b(?! (it|you)self)/g,
    },
    { instead: "isolate, isolated", pattern: /\bcutOff\b|\bcuts? off\b/g },
    { instead: "host input filter", pattern: /\bhost-?guard\b/gi },
    { instead: "node address reservation", pattern: /\bNodeHolds?\b|\bnode-holds?\b/g },
    {
        instead: "settleAll, vswitchd-ack, cached-node",
        pattern: /\ballDone\b|\ball-done\b|\bcarriedOut\b|\bcarried-out\b/g,
    },
    { instead: "isRetryable, retryUntilAnswered", pattern: /\bisPassing\b|\buntilAnswered\b/g },
    { instead: 'fault "remote"', pattern: /(?<=fault: |\|\s*)"peer"/g },
    { instead: "workers, seeded bugs, users, faults", pattern: /\bcrew\b|\bplants?\b|\baccidents?\b/gi },
    { instead: "HttpsServer", pattern: /\bHealthServer\b/g },
    { instead: "retries, repeats, again", pattern: /\banew\b/g },
    { instead: "no longer", pattern: /\bany ?more\b/g },
    { instead: "name who or what it is", pattern: /\b(nobody|somebody|everybody|anybody)\b/gi },
];

export interface Found {
    readonly term: Term;
    readonly count: number;
}

/** How often each term occurs in a text; none are left out. */
export function countTerms(text: string): Found[] {
    return terms.map((term) => ({ term, count: text.match(term.pattern)?.length ?? 0 }));
}
