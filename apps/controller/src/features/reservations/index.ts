/** Reserves addresses for the ordinals of StatefulSets. */
export { reservations } from "./feature.ts";
