import { cleaners } from "./cleaners.ts";
import { claimers } from "./claimers.ts";
import { forgetters } from "./forgetters.ts";
import { ofNetworks } from "./networks.ts";
import { type SeededBug } from "./seeded-bug.ts";

/** All seeded bugs, by name. */
export const seededBugs: Readonly<Record<string, SeededBug>> = {
    ...cleaners,
    ...claimers,
    ...forgetters,
    ...ofNetworks,
};
