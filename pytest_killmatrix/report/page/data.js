"use strict";
// Unpacks what the page holds, and looks things up in it.

const OUTCOMES = ["passed", "assertion", "exception", "crash", "timeout", "skipped", "error"];
const PHASES = ["call", "setup", "teardown", "collect"];
const kills = (outcome) => outcome >= 1 && outcome <= 4;
const GLYPHS = { killed: "✓", crashed: "c", timeout: "t", survived: "!", silenced: "z", no_usable_test: "x", no_coverage: "○" };
const DETECTED = ["killed", "crashed", "timeout"];
const UNDETECTED = ["survived", "silenced", "no_usable_test", "no_coverage"];
const UNJUDGED = ["invalid", "equivalent", "duplicate", "ignored", "pending", "run_error"];

async function unpack(name) {
  const element = document.getElementById(name);
  const text = atob(element.textContent.replace(/\s+/g, ""));
  element.remove();
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Data {
  static async load() {
    const [facts, cells] = await Promise.all([unpack("data"), unpack("cells")]);
    return new Data(JSON.parse(new TextDecoder().decode(facts)), cells);
  }

  constructor(facts, packed) {
    Object.assign(this, facts);
    this.mutantCount = this.mutants.key.length;
    this.testCount = this.tests.id.length;
    this.readCells(packed);
    this.indexTests();
    this.lines = new Map();
  }

  readCells(packed) {
    const first = (this.first = new Uint32Array(this.mutantCount + 1)); // of a mutant's cells; the end is the next one's
    let capacity = 1 << 16, size = 0, at = 0;
    let tests = new Uint32Array(capacity), codes = new Uint8Array(capacity);
    this.details = new Map();
    const next = () => {
      let value = 0, factor = 1, byte;
      do { byte = packed[at++]; value += (byte & 127) * factor; factor *= 128; } while (byte & 128);
      return value;
    };
    for (let mutant = 0; mutant < this.mutantCount; mutant++) {
      let test = 0;
      for (let left = next(); left > 0; left--) {
        if (size === capacity) {
          capacity *= 2;
          const moreTests = new Uint32Array(capacity), moreCodes = new Uint8Array(capacity);
          moreTests.set(tests); moreCodes.set(codes);
          tests = moreTests; codes = moreCodes;
        }
        test += next();
        const code = packed[at++];
        tests[size] = test;
        codes[size] = code;
        if (code & 128) this.details.set(size, [next(), next(), next()]);
        size++;
      }
      first[mutant + 1] = size;
    }
    this.cellTest = tests.subarray(0, size);
    this.cellCode = codes.subarray(0, size);
    this.cellMutant = new Uint32Array(size);
    for (let mutant = 0; mutant < this.mutantCount; mutant++) this.cellMutant.fill(mutant, first[mutant], first[mutant + 1]);
  }

  // For each test: how many mutants it met, killed, asserted on, and killed alone; and where its cells are.
  indexTests() {
    const start = (this.testFirst = new Uint32Array(this.testCount + 1));
    for (const test of this.cellTest) start[test + 1]++;
    for (let test = 0; test < this.testCount; test++) start[test + 1] += start[test];
    const fill = start.slice();
    this.testCells = new Uint32Array(this.cellTest.length);
    this.met = new Uint32Array(this.testCount);
    this.killed = new Uint32Array(this.testCount);
    this.asserted = new Uint32Array(this.testCount);
    this.unique = new Uint32Array(this.testCount);
    this.only = new Int32Array(this.mutantCount).fill(-1); // the one test that kills a mutant; -2 for several
    for (let cell = 0; cell < this.cellTest.length; cell++) {
      const test = this.cellTest[cell], code = this.cellCode[cell], outcome = code & 7;
      this.testCells[fill[test]++] = cell;
      this.met[test]++;
      if (!kills(outcome)) continue;
      this.killed[test]++;
      if (outcome === 1) this.asserted[test]++;
      if (code & 32) continue; // of the old suite
      const mutant = this.cellMutant[cell];
      this.only[mutant] = this.only[mutant] === -1 || this.only[mutant] === test ? test : -2;
    }
    for (let mutant = 0; mutant < this.mutantCount; mutant++) if (this.only[mutant] >= 0) this.unique[this.only[mutant]]++;
  }

  status(mutant) { return this.statuses[this.mutants.status[mutant]]; }
  place(mutant) { return this.paths[this.mutants.path[mutant]] + ":" + this.mutants.line[mutant]; }
  change(mutant) {
    const before = oneLine(this.mutants.original[mutant]) || "(nothing)";
    return before + " → " + (oneLine(this.mutants.replacement[mutant]) || "(deleted)");
  }
  killers(mutant) {
    let found = 0;
    for (let cell = this.first[mutant]; cell < this.first[mutant + 1]; cell++) {
      if (kills(this.cellCode[cell] & 7) && !(this.cellCode[cell] & 32)) found++;
    }
    return found;
  }
  source(path) {
    if (!this.lines.has(path)) this.lines.set(path, this.sources[path] === null ? null : this.sources[path].split(/\r\n|\r|\n/));
    return this.lines.get(path);
  }
  counts(mutants) {
    const found = {};
    for (const mutant of mutants) found[this.status(mutant)] = (found[this.status(mutant)] || 0) + 1;
    return found;
  }
}
