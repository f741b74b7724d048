import { cleaners } from "./cleaners.ts";
import { claimers } from "./claimers.ts";
import { forgetters } from "./forgetters.ts";
import { type PlantedBug } from "./planted-bug.ts";

export const plants: Readonly<Record<string, PlantedBug>> = { ...cleaners, ...claimers, ...forgetters };
