import { type Flow } from "@antrea/openflow";
import { invalidInput } from "./error.ts";

/**
 * The purpose of a flow: bits 40 to 47 of its cookie. A cookie consists of, from the highest bit: round (16 bits),
 * category (8), reserved, zero (8), object id (32). Categories below 16 have the numbers of upstream Antrea (Go).
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
    /** Pods of other Nodes. */
    nodeConnectivity: 16,
    /** Marks that the switch has had all Services. */
    servicesComplete: 17,
} as const;
/** One of the numbers in `Category`. */
export type Category = (typeof Category)[keyof typeof Category];

/** Flows of one category, whose cookies are set later by `withCookies`. */
export interface FlowSet {
    readonly category: Category;
    readonly flows: readonly Flow[];
}

/** The parts of a 64-bit flow cookie; see {@link Category} for their position. */
export interface CookieParts {
    /** 1 to 65535; incremented at each start of the agent. 0: the flow is not of this project. */
    readonly round: number;
    /** A value of `Category`, or any 8 bits of a foreign flow. */
    readonly category: number;
    /** Number of the object that owns the flow; 0 for none. */
    readonly objectId: number;
}

/** Cookie bits of the round, to match the flows of one start of the agent. */
export const roundMask = 0xffffn << 48n;
/** Cookie bits that are zero in all cookies of this project. */
export const reservedMask = 0xffn << 32n;
/** Cookie bits of the category. */
export const categoryMask = 0xffn << 40n;
/** Cookie bits of category and object id, to match the flows of one object in any round. */
export const objectMask = 0xff00ffffffffn;

const maxRound = 0xffff;
const maxObjectId = 0xffffffff;

/**
 * Builds a cookie. Throws FlowsError `INVALID_INPUT` unless the round is 1 to 65535 and the object id 0 (no object) to
 * 2^32-1.
 */
export function cookie(round: number, category: Category, objectId = 0): bigint {
    if (!Number.isInteger(round) || round < 1 || round > maxRound) {
        throw invalidInput("round", round, `it must be a whole number from 1 to ${maxRound}`);
    }
    if (!Number.isInteger(objectId) || objectId < 0 || objectId > maxObjectId) {
        throw invalidInput("object id", objectId, `it must be a whole number from 0 to ${maxObjectId}`);
    }
    return (BigInt(round) << 48n) | (BigInt(category) << 40n) | BigInt(objectId);
}

/**
 * Splits a cookie into its parts, of any flow: round 0 means that it is not of this project, and the category may be
 * unknown.
 */
export function cookieOf(value: bigint): CookieParts {
    return {
        round: Number((value >> 48n) & 0xffffn),
        category: Number((value >> 40n) & 0xffn),
        objectId: Number(value & 0xffffffffn),
    };
}

/** Returns the next round: 1 follows 65535, and 0 (no round yet). */
export function nextRound(round: number): number {
    return (round % maxRound) + 1;
}

/**
 * Returns copies of the flows of a set with their cookie set. `objectId` 0 (default) is no object. Throws FlowsError
 * `INVALID_INPUT` as `cookie` does.
 */
export function withCookies(set: FlowSet, round: number, objectId = 0): Flow[] {
    const value = cookie(round, set.category, objectId);
    return set.flows.map((flow) => ({ ...flow, cookie: value }));
}
