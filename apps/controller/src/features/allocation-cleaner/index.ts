/** Releases allocations that their Node cannot release. */
export {
    AllocationCleaner,
    type AllocationCleanerComponents,
    type AllocationCleanerOptions,
} from "./allocation-cleaner.ts";
