/** Keeps addresses for the ordinals of StatefulSets. */
export { Reservations, type ReservationsComponents, type ReservationsOptions } from "./reservations.ts";
export { SetBook, type SetBookComponents } from "./set-book.ts";
