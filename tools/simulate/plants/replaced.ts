/** Puts another function in the place of a method of the product, until it is disposed of. */
export function replaced<T extends object, K extends keyof T>(target: T, name: K, method: T[K]): Disposable {
    const original = target[name];
    target[name] = method;
    return { [Symbol.dispose]: () => void (target[name] = original) };
}
