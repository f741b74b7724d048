export { ForwardClock } from "./forward-clock.ts";
export { ManualClock, settle } from "./manual-clock.ts";
