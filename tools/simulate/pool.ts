import { fork } from "node:child_process";
import { SimulationError } from "./error.ts";
import type { Delivery, Order } from "./worker.ts";

export interface PoolOptions {
    readonly workers: number;
    /** Called with each result; false ends the rest. */
    readonly onDelivery: (delivery: Delivery) => boolean;
}

/** Each seed leaks a little memory in the process. */
const seedsOfProcess = 1_000;

/** Distributes the orders to so many processes, the next one as soon as a process is idle. */
export async function inProcesses(orders: Iterator<Order>, { workers, onDelivery }: PoolOptions): Promise<void> {
    let isOver = false;
    const oneProcess = (): Promise<void> =>
        new Promise((resolve, reject) => {
            const child = fork(new URL("./worker.ts", import.meta.url), {
                stdio: ["ignore", "inherit", "inherit", "ipc"],
            });
            let left = seedsOfProcess;
            child.on("message", (message: Delivery | "ready") => {
                if (message !== "ready" && !onDelivery(message)) isOver = true;
                left -= 1;
                if (isOver || left < 0) return child.disconnect();
                const next = orders.next();
                if (next.done !== true) return void child.send(next.value);
                isOver = true;
                child.disconnect();
            });
            child.on("exit", (code) => {
                if (code === 0) resolve();
                else reject(new SimulationError("WORKER_ENDED", "internal", `a worker ended with ${code}`));
            });
        });
    const work = async (): Promise<void> => {
        while (!isOver) await oneProcess();
    };
    await Promise.all(Array.from({ length: workers }, work));
}
