import { isAborted, messageOf } from "@antrea/errors";

/**
 * Runs the work, then calls `report` with its failure as `WHAT: MESSAGE`, or with undefined after success. An abort
 * (`isAborted`) is not reported: the last report stays. Rejects as the work does.
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
