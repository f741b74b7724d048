import { AntreaError } from "@antrea/errors";

/** A worker of the simulation ended (`WORKER_ENDED`), a simulated webhook gives no response (`NOT_READY`), or a seeded bug takes a pool for full (`EXHAUSTED`). */
export class SimulationError extends AntreaError<"WORKER_ENDED" | "NOT_READY" | "EXHAUSTED"> {}
