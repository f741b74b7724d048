import { fork } from "node:child_process";
import type { Delivery, Order } from "./worker.ts";

export interface PoolOptions {
    readonly workers: number;
    /** Called with each result; false ends the rest. */
    readonly onDelivery: (delivery: Delivery) => boolean;
}

/** Hands the orders out to so many processes, each the next one as soon as it is done with one. */
export async function inProcesses(orders: Iterator<Order>, { workers, onDelivery }: PoolOptions): Promise<void> {
    let isOver = false;
    const work = (): Promise<void> =>
        new Promise((resolve, reject) => {
            const child = fork(new URL("./worker.ts", import.meta.url), {
                stdio: ["ignore", "inherit", "inherit", "ipc"],
            });
            child.on("message", (message: Delivery | "ready") => {
                if (message !== "ready" && !onDelivery(message)) isOver = true;
                const next = isOver ? undefined : orders.next();
                if (next === undefined || next.done === true) child.disconnect();
                else child.send(next.value);
            });
            child.on("exit", (code) => {
                if (code === 0) resolve();
                else reject(new Error(`a worker ended with ${code}`));
            });
        });
    await Promise.all(Array.from({ length: workers }, work));
}
