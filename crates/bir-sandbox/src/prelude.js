// Runs before a body. Takes away what would make it see the world; gives back what the program needs of the engine as it was
// before the body could change it.
(function (now) {
  'use strict';
  const absent = (what) => { throw new TypeError(`there is no ${what} here`); };
  const Real = Date, proto = Real.prototype, construct = Reflect.construct;
  const clock = () => (now === null ? absent('clock') : now);
  const Fixed = function Date(...args) {
    const at = construct(Real, args.length === 0 ? [clock()] : args, new.target === undefined ? Real : new.target);
    return new.target === undefined ? construct(Real, [clock()]).toString() : at;
  };
  Object.defineProperty(Fixed, 'prototype', { value: proto, writable: false, enumerable: false, configurable: false });
  Object.defineProperty(proto, 'constructor', { value: Fixed, writable: true, enumerable: false, configurable: true });
  for (const [name, value] of [['now', clock], ['parse', Real.parse], ['UTC', Real.UTC]]) {
    Object.defineProperty(Fixed, name, { value, writable: true, enumerable: false, configurable: true });
  }
  Object.defineProperty(globalThis, 'Date', { value: Fixed, writable: true, enumerable: false, configurable: true });
  Object.defineProperty(Math, 'random', { value: () => absent('randomness'), writable: true, enumerable: false, configurable: true });
  for (const name of ['Atomics', 'SharedArrayBuffer', 'WeakRef', 'FinalizationRegistry', 'performance', 'navigator']) {
    delete globalThis[name];
  }

  const source = Function.prototype.toString, call = Function.prototype.call.bind(Function.prototype.call);
  const prototypeOf = Object.getPrototypeOf, plain = Object.prototype, isArray = Array.isArray;
  return {
    // Whether a text is the body of one function: all of it, and nothing beside it.
    whole: (compiled, text) => typeof compiled === 'function' && call(source, compiled) === text,
    // What is wrong with a result; an empty text: nothing.
    verdict: (value) => {
      if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return 'plain';
      if (typeof value.then === 'function') return 'thenable';
      if (typeof value !== 'object' || isArray(value)) return 'plain';
      const parent = prototypeOf(value);
      return parent === plain || parent === null ? '' : 'plain';
    },
  };
})
