/** Frees claims of Nodes that cannot do it themselves. */
export { ClaimCleaner, type ClaimCleanerComponents, type ClaimCleanerOptions } from "./claim-cleaner.ts";
export { claimCleaner } from "./feature.ts";
