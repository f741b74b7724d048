import { checkId } from "../codec/encode-value.ts";
import { member, readBoolean, readObject } from "../codec/reader.ts";
import { type LockState } from "./options.ts";
import { type RpcConnection } from "./rpc-connection.ts";

/**
 * The state of the session's lock (RFC 7047 sections 4.1.8 to 4.1.10); `onChange` gets each new state. A lock belongs
 * to a connection: the server releases it when the connection ends. A session from which it was stolen stays in the
 * server's queue and gets it again later.
 */
export class SessionLock {
    readonly name: string;
    readonly #onChange: (state: LockState) => void;
    #state: LockState = "none";

    /** @throws OvsdbError `BAD_ARGUMENT` for a name that is not an <id>, which the server would reject */
    constructor(name: string, onChange: (state: LockState) => void) {
        this.name = checkId(name, "option lock");
        this.#onChange = onChange;
    }

    /** The current state. */
    get state(): LockState {
        return this.#state;
    }

    /**
     * Requests the lock on a new connection; then the state is `locked` or `waiting`.
     *
     * @throws OvsdbError of the request; `BAD_MESSAGE` for a wrong answer
     */
    async request(connection: RpcConnection, timeoutMs: number): Promise<void> {
        const receive = (result: unknown): void => {
            const locked = readBoolean(member(readObject(result, "result of lock"), "locked"), "result of lock.locked");
            this.#set(locked ? "locked" : "waiting");
        };
        await connection.request("lock", [this.name], receive, { timeoutMs, changes: false });
    }

    /** Handles a `locked` or `stolen` notification; false for one about another lock. */
    notified(method: "locked" | "stolen", params: readonly unknown[]): boolean {
        if (params[0] !== this.name) return false;
        this.#set(method === "locked" ? "locked" : "lost");
        return true;
    }

    /** Must be called when the connection has ended, which releases the lock. */
    connectionEnded(): void {
        if (this.#state === "locked") this.#set("lost");
    }

    #set(state: LockState): void {
        if (state === this.#state) return;
        this.#state = state;
        this.#onChange(state);
    }
}
