/** Releases allocations that their Node cannot release. */
export { ClaimCleaner, type ClaimCleanerComponents, type ClaimCleanerOptions } from "./claim-cleaner.ts";
export { claimCleaner } from "./feature.ts";
