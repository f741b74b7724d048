// What the shim is compared with: the least that a compiled program can do.
console.log("{}");
