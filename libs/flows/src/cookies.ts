import { type Flow } from "@antrea/openflow";
import { invalidInput } from "./error.ts";

/**
 * What a flow is there for: bits 40 to 47 of its cookie. The cookie of a flow is, from the highest bit: round (16),
 * category (8), reserved (8), object id (32). Categories below 16 have the numbers of Antrea in Go.
 */
export const Category = {
    default: 0,
    podConnectivity: 1,
    networkPolicy: 2,
    service: 3,
    egress: 4,
    multicast: 5,
    multicluster: 6,
    traceflow: 7,
    externalNode: 8,
    /** The Pods of other Nodes. */
    nodeConnectivity: 16,
} as const;
export type Category = (typeof Category)[keyof typeof Category];

/** Flows of one category, without their cookies. */
export interface FlowSet {
    readonly category: Category;
    readonly flows: readonly Flow[];
}

/** What a cookie of ours says. */
export interface CookieParts {
    readonly round: number;
    readonly category: number;
    readonly objectId: number;
}

/** The bits of a cookie that hold the round: for finding the flows of one life of the agent. */
export const roundMask = 0xffffn << 48n;
/** The bits of a cookie that are zero in all of ours. */
export const reservedMask = 0xffn << 32n;
/** The bits of a cookie that hold category and object id: for finding the flows of one object in any round. */
export const objectMask = 0xff00ffffffffn;

const maxRound = 0xffff;
const maxObjectId = 0xffffffff;

/** The cookie of a flow. Round 1 to 65535; object id 0 (no object) to 2^32-1; else `INVALID_INPUT`. */
export function cookie(round: number, category: Category, objectId = 0): bigint {
    if (!Number.isInteger(round) || round < 1 || round > maxRound) {
        throw invalidInput("round", round, `it must be a whole number from 1 to ${maxRound}`);
    }
    if (!Number.isInteger(objectId) || objectId < 0 || objectId > maxObjectId) {
        throw invalidInput("object id", objectId, `it must be a whole number from 0 to ${maxObjectId}`);
    }
    return (BigInt(round) << 48n) | (BigInt(category) << 40n) | BigInt(objectId);
}

/** The parts of a cookie. A round of 0 is no flow of ours. */
export function cookieOf(value: bigint): CookieParts {
    return {
        round: Number((value >> 48n) & 0xffffn),
        category: Number((value >> 40n) & 0xffn),
        objectId: Number(value & 0xffffffffn),
    };
}

/** The round after this one: 65535 is followed by 1, and so is 0 (no round yet). */
export function nextRound(round: number): number {
    return (round % maxRound) + 1;
}

/** The flows of a set with their cookies. */
export function withCookies(set: FlowSet, round: number, objectId = 0): Flow[] {
    const value = cookie(round, set.category, objectId);
    return set.flows.map((flow) => ({ ...flow, cookie: value }));
}
