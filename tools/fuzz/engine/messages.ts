import { type Outcome } from "./executor.ts";
import { type FuzzStatistics } from "./fuzzer.ts";

/** What a worker is made with. */
export interface WorkerData {
    readonly mailbox: SharedArrayBuffer;
}

/** What a worker is asked. */
export type Order =
    | {
          readonly kind: "fuzz";
          readonly inputs: readonly Uint8Array[];
          readonly seed: number;
          readonly guided: boolean;
          /** Whichever comes first. */
          readonly milliseconds: number;
          readonly executions: number;
          readonly cover: { readonly entries: number; readonly bytes: number };
      }
    | { readonly kind: "run"; readonly input: Uint8Array };

/** What a worker tells. */
export type Report =
    | { readonly kind: "ready" }
    /** The fuzzer itself is broken. */
    | { readonly kind: "failed"; readonly text: string }
    /** Now and then: what is known if the worker ends before its time. */
    | { readonly kind: "progress"; readonly statistics: FuzzStatistics; readonly milliseconds: number }
    | { readonly kind: "added"; readonly input: Uint8Array }
    | { readonly kind: "found"; readonly input: Uint8Array; readonly outcome: Extract<Outcome, { key: string }> }
    | {
          readonly kind: "done";
          readonly statistics: FuzzStatistics;
          readonly milliseconds: number;
          /** A few inputs that take all branches. */
          readonly cover: readonly Uint8Array[];
      }
    | { readonly kind: "outcome"; readonly outcome: Outcome };
