/** Boundary values of numbers. */
export const interesting: readonly number[] = [
    0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 100, 127, 128, 129, 254, 255, 256, 257, 511, 512, 1000,
    1023, 1024, 4095, 4096, 32767, 32768, 65534, 65535, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
];

export type Width = 1 | 2 | 4;

/** Reads an unsigned number of 1, 2 or 4 bytes. */
export function readNumber(bytes: Uint8Array, at: number, width: Width, littleEndian: boolean): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (width === 1) return view.getUint8(at);
    return width === 2 ? view.getUint16(at, littleEndian) : view.getUint32(at, littleEndian);
}

/** Writes an unsigned number of 1, 2 or 4 bytes. */
export function writeNumber(bytes: Uint8Array, at: number, width: Width, value: number, littleEndian: boolean): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (width === 1) view.setUint8(at, value);
    else if (width === 2) view.setUint16(at, value, littleEndian);
    else view.setUint32(at, value, littleEndian);
}
