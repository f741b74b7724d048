export { ManualClock, settle } from "./manual-clock.ts";
