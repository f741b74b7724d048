import { type Outcome } from "./executor.ts";
import { type FuzzStatistics } from "./fuzzer.ts";

/** Initial data of a worker. */
export interface WorkerData {
    readonly mailbox: SharedArrayBuffer;
}

/** A request to a worker. */
export type Order =
    | {
          readonly kind: "fuzz";
          readonly inputs: readonly Uint8Array[];
          readonly seed: number;
          readonly guided: boolean;
          /** Whichever limit is reached first. */
          readonly milliseconds: number;
          readonly executions: number;
          readonly cover: { readonly entries: number; readonly bytes: number };
      }
    | { readonly kind: "run"; readonly input: Uint8Array };

/** A message of a worker. */
export type Report =
    | { readonly kind: "ready" }
    /** The fuzzer itself failed. */
    | { readonly kind: "failed"; readonly text: string }
    /** Periodic state, in case the worker ends early. */
    | { readonly kind: "progress"; readonly statistics: FuzzStatistics; readonly milliseconds: number }
    | { readonly kind: "added"; readonly input: Uint8Array }
    | { readonly kind: "found"; readonly input: Uint8Array; readonly outcome: Extract<Outcome, { key: string }> }
    | {
          readonly kind: "done";
          readonly statistics: FuzzStatistics;
          readonly milliseconds: number;
          /** A small set that covers all branches. */
          readonly cover: readonly Uint8Array[];
      }
    | { readonly kind: "outcome"; readonly outcome: Outcome };
