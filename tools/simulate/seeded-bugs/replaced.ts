/** Replaces a method of the product until disposed of. */
export function replaced<T extends object, K extends keyof T>(target: T, name: K, method: T[K]): Disposable {
    const original = target[name];
    target[name] = method;
    return { [Symbol.dispose]: () => void (target[name] = original) };
}
