/**
 * Sends a signal to one process. Throws RangeError for what is no process id: 0, which an empty file or no process gives, is
 * the whole group of this process, and with it the test runner, which ends without a word.
 */
export function signal(pid: number | undefined, name: NodeJS.Signals): void {
    if (pid === undefined || !Number.isSafeInteger(pid) || pid <= 0) throw new RangeError(`${pid} is no process id`);
    // eslint-disable-next-line no-restricted-syntax -- the id was checked
    process.kill(pid, name);
}
