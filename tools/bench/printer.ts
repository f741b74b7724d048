// The baseline of the shim: the minimal compiled program.
console.log("{}");
