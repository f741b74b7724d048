import { type Socket } from "node:net";

/** Passes bytes both ways; the end of one socket is that of the other. */
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
