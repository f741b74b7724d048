/** Runs the work for the numbers from 0 to below `count`, with limited concurrency. */
export async function inParallel(
    count: number,
    width: number,
    work: (index: number) => Promise<unknown>,
): Promise<void> {
    let next = 0;
    const loop = async (): Promise<void> => {
        while (next < count) await work(next++);
    };
    await Promise.all(Array.from({ length: width }, loop));
}
