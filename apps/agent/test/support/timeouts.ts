import { jest } from "@jest/globals";
import { type Clock } from "@antrea/async";

/** Until it is disposed of, `AbortSignal.timeout` goes by this clock. */
export function timeoutsBy(clock: Clock): Disposable {
    const spy = jest.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
        const stop = new AbortController();
        clock.after(ms, () => stop.abort(new DOMException(`${ms} ms have passed`, "TimeoutError")));
        return stop.signal;
    });
    return { [Symbol.dispose]: () => spy.mockRestore() };
}
