import { type Socket } from "node:net";

/** Forwards bytes in both directions; when one socket ends, the other ends. */
export function joinSockets(one: Socket, other: Socket): void {
    for (const [from, to] of [
        [one, other],
        [other, one],
    ] as const) {
        from.on("error", () => to.destroy());
        from.on("close", () => to.destroy());
        from.pipe(to);
    }
}
