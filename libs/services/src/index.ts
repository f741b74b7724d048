// Groups: how OVS divides connections among endpoints.
export {
    bucketIds,
    bucketSelection,
    deadBucketId,
    type BucketSelection,
    type BucketTarget,
    type DeadBucket,
} from "./buckets.ts";
