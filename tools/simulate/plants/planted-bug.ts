import { type Plant } from "../world.ts";

/** A published defect, or what comes nearest to it here, as a change to what was built. */
export interface PlantedBug {
    /** Where it was published. */
    readonly source: string;
    readonly what: string;
    readonly plant: Plant;
}
