import { cleaners } from "./cleaners.ts";
import { claimers } from "./claimers.ts";
import { forgetters } from "./forgetters.ts";
import { type PlantedBug } from "./planted-bug.ts";

/** All seeded bugs, by name. */
export const plants: Readonly<Record<string, PlantedBug>> = { ...cleaners, ...claimers, ...forgetters };
