/** Keeps addresses for the ordinals of StatefulSets. */
export { Reservations, type ReservationsComponents, type ReservationsOptions } from "./reservations.ts";
export { SetCache, type SetCacheComponents } from "./set-cache.ts";
