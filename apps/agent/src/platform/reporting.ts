import { isAborted, messageOf } from "@antrea/errors";

/**
 * Runs the work and reports its failure as `WHAT: MESSAGE`, or undefined on success. An abort is not reported. Rejects
 * as the work does.
 */
export async function reporting(
    { what, report }: { readonly what: string; readonly report: (problem: string | undefined) => void },
    work: () => Promise<void>,
): Promise<void> {
    try {
        await work();
    } catch (error) {
        if (!isAborted(error)) report(`${what}: ${messageOf(error)}`);
        throw error;
    }
    report(undefined);
}
