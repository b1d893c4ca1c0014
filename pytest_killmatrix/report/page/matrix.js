"use strict";
// The matrix as a heat map: a column for each mutant, a row for each test. Drawn once into a picture, then scaled.

const MOST_PIXELS = 24e6;
const WEIGHT = [0, 5, 4, 6, 4, 2, 7]; // which outcome shows where several cells share a pixel

// Reciprocal averaging: each test moves to the middle of its mutants, each mutant to the middle of its tests; what
// belongs together comes to lie together. Kills count more than cells that only met.
function clustered(data) {
  const mutants = data.mutantCount, tests = data.testCount;
  let column = Float64Array.from({ length: mutants }, (_, index) => index);
  let row = new Float64Array(tests);
  const { cellMutant, cellTest, cellCode } = data;
  const weights = Float32Array.from(cellCode, (code) => (kills(code & 7) ? 8 : 1));
  const average = (from, into, source, target) => {
    const sum = new Float64Array(into.length), weight = new Float64Array(into.length);
    for (let cell = 0; cell < source.length; cell++) {
      sum[target[cell]] += weights[cell] * from[source[cell]];
      weight[target[cell]] += weights[cell];
    }
    return into.map((_, index) => (weight[index] ? sum[index] / weight[index] : Infinity));
  };
  const ranks = (values) => {
    const order = Uint32Array.from(values, (_, index) => index).sort((a, b) => values[a] - values[b] || a - b);
    const rank = new Float64Array(values.length);
    order.forEach((index, place) => { rank[index] = place; });
    return rank;
  };
  for (let round = 0; round < 12; round++) {
    row = ranks(average(column, row, cellMutant, cellTest));
    column = ranks(average(row, column, cellTest, cellMutant));
  }
  return { column, row };
}

function matrixPage(data) {
  if (!data.cellTest.length) return [h("h1", {}, "Matrix"), h("p", {}, "There is no cell.")];
  const canvas = h("canvas", { tabindex: "0", role: "application", "aria-roledescription": "heat map",
    "aria-label": "Kill matrix, " + count(data.mutantCount, "mutant") + " by " + count(data.testCount, "test") + ". Arrow keys move, plus and minus zoom, Enter opens the mutant, T the test." });
  const heat = new Heat(data, canvas);
  const order = h("select", { id: "order", onchange: () => heat.arrange(order.value) },
    h("option", { value: "clustered" }, "clustered: what belongs together"), h("option", { value: "source" }, "by file, as in the source"));
  const button = (text, label, action) => h("button", { type: "button", "aria-label": label, onclick: action }, text);
  setTimeout(() => heat.begin());
  return [
    h("h1", {}, "Matrix"),
    h("p", { class: "filters" }, h("label", {}, "Order ", order), button("+", "Zoom in", () => heat.zoom(1.6)), button("−", "Zoom out", () => heat.zoom(1 / 1.6)), button("all", "Show all", () => heat.fit())),
    h("div", { class: "heat" }, canvas),
    h("ul", { class: "legend" }, OUTCOMES.map((name, index) => h("li", {}, h("i", { style: "background:var(--cell-" + index + ")" }), name)),
      h("li", {}, h("i", { style: "background:var(--cell-none)" }), "does not reach it")),
    h("p", { class: "soft" }, "Columns are mutants, rows are tests. Drag to move; with the map focused the wheel zooms, arrow keys step, Enter opens the mutant and T the test. The same facts as tables: ",
      h("a", { href: "#" }, "mutants by file"), ", ", h("a", { href: "#tests" }, "tests"), "."),
  ];
}

class Heat {
  constructor(data, canvas) {
    this.data = data; this.canvas = canvas; this.context = canvas.getContext("2d");
    this.at = null; this.queued = false;
    const area = data.mutantCount * data.testCount;
    this.bin = Math.max(1, Math.ceil(Math.sqrt(area / MOST_PIXELS)), Math.ceil(data.mutantCount / 16000), Math.ceil(data.testCount / 16000));
    this.orders = {};
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => hideTip());
    canvas.addEventListener("blur", () => hideTip());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  begin() {
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    onThemeChange = () => { if (this.canvas.isConnected) { this.paint(); this.draw(); } };
    this.arrange("clustered");
    this.resize();
    this.canvas.dataset.ready = "yes";
  }

  arrange(name) {
    const data = this.data;
    if (!this.orders[name]) {
      this.orders[name] = name === "clustered" ? clustered(data) :
        { column: Float64Array.from({ length: data.mutantCount }, (_, i) => i), row: Float64Array.from({ length: data.testCount }, (_, i) => i) };
    }
    const { column, row } = this.orders[name];
    this.column = column; this.row = row;
    this.mutantAt = new Uint32Array(data.mutantCount); this.testAt = new Uint32Array(data.testCount);
    column.forEach((place, mutant) => { this.mutantAt[place] = mutant; });
    row.forEach((place, test) => { this.testAt[place] = test; });
    this.paint();
    this.fit();
  }

  paint() {
    const data = this.data, bin = this.bin, style = getComputedStyle(document.documentElement);
    const colours = ["none", 0, 1, 2, 3, 4, 5, 6].map((name) => rgb(style.getPropertyValue("--cell-" + name).trim()));
    const width = Math.ceil(data.mutantCount / bin), height = Math.ceil(data.testCount / bin);
    this.picture = document.createElement("canvas");
    this.picture.width = width; this.picture.height = height;
    const context = this.picture.getContext("2d"), image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer).fill(colours[0]);
    const weight = bin > 1 ? new Uint8Array(pixels.length) : null;
    const { cellMutant, cellTest, cellCode } = data;
    for (let cell = 0; cell < cellTest.length; cell++) {
      const outcome = cellCode[cell] & 7;
      const pixel = Math.floor(this.row[cellTest[cell]] / bin) * width + Math.floor(this.column[cellMutant[cell]] / bin);
      if (weight) {
        if (weight[pixel] > WEIGHT[outcome]) continue;
        weight[pixel] = WEIGHT[outcome];
      }
      pixels[pixel] = colours[outcome + 1];
    }
    context.putImageData(image, 0, 0);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth; this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio); this.canvas.height = Math.round(this.height * ratio);
    this.ratio = ratio;
    this.fit();
  }

  fit() {
    if (!this.width) return;
    this.scaleX = this.width / this.data.mutantCount; this.scaleY = this.height / this.data.testCount;
    this.x = 0; this.y = 0; // column and row at the upper left corner
    this.draw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const data = this.data, leastX = this.width / data.mutantCount, leastY = this.height / data.testCount;
    const column = this.x + x / this.scaleX, row = this.y + y / this.scaleY;
    this.scaleX = Math.min(Math.max(this.scaleX * factor, leastX), Math.max(60, leastX));
    this.scaleY = Math.min(Math.max(this.scaleY * factor, leastY), Math.max(60, leastY));
    this.x = column - x / this.scaleX; this.y = row - y / this.scaleY;
    this.draw();
  }

  clamp() {
    const data = this.data;
    this.x = Math.min(Math.max(this.x, 0), Math.max(0, data.mutantCount - this.width / this.scaleX));
    this.y = Math.min(Math.max(this.y, 0), Math.max(0, data.testCount - this.height / this.scaleY));
  }

  draw() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => { this.queued = false; this.render(); });
  }

  render() {
    if (!this.picture || !this.width) return;
    this.clamp();
    const { context, bin, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = this.scaleX * bin < 1 || this.scaleY * bin < 1;
    const columns = this.width / this.scaleX, rows = this.height / this.scaleY;
    context.drawImage(this.picture, this.x / bin, this.y / bin, columns / bin, rows / bin, 0, 0, this.width, this.height);
    if (this.at) {
      context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
      context.lineWidth = 2;
      context.strokeRect((this.at.column - this.x) * this.scaleX - 1, (this.at.row - this.y) * this.scaleY - 1, Math.max(this.scaleX, 4) + 2, Math.max(this.scaleY, 4) + 2);
    }
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor(this.x + (event.clientX - box.left) / this.scaleX), row = Math.floor(this.y + (event.clientY - box.top) / this.scaleY);
    return column >= 0 && row >= 0 && column < this.data.mutantCount && row < this.data.testCount ? { column, row } : null;
  }

  outcome(mutant, test) {
    const data = this.data;
    let low = data.first[mutant], high = data.first[mutant + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (data.cellTest[middle] < test) low = middle + 1; else high = middle;
    }
    return low < data.first[mutant + 1] && data.cellTest[low] === test ? OUTCOMES[data.cellCode[low] & 7] : "not reached";
  }

  describe(at) {
    const mutant = this.mutantAt[at.column], test = this.testAt[at.row];
    return this.outcome(mutant, test) + ": " + this.data.place(mutant) + " " + cut(this.data.change(mutant), 90) + ", by " + this.data.tests.id[test];
  }

  press(event) {
    this.drag = { x: event.clientX, y: event.clientY, left: this.x, top: this.y, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (this.drag) {
      const dx = event.clientX - this.drag.x, dy = event.clientY - this.drag.y;
      if (Math.abs(dx) + Math.abs(dy) > 4) this.drag.moved = true;
      if (this.drag.moved) {
        this.x = this.drag.left - dx / this.scaleX; this.y = this.drag.top - dy / this.scaleY;
        hideTip();
        this.draw();
      }
      return;
    }
    const at = this.cellAt(event);
    if (at) showTip(this.describe(at), event.clientX, event.clientY); else hideTip();
  }

  release(event) {
    const moved = this.drag && this.drag.moved;
    this.drag = null;
    const at = this.cellAt(event);
    if (!moved && at) location.hash = "#m/" + this.mutantAt[at.column];
  }

  wheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-Infinity, 0], End: [Infinity, 0] };
    if (event.key === "+" || event.key === "=") this.zoom(1.6);
    else if (event.key === "-") this.zoom(1 / 1.6);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter" && this.at) location.hash = "#m/" + this.mutantAt[this.at.column];
    else if (event.key.toLowerCase() === "t" && this.at) location.hash = "#t/" + this.testAt[this.at.row];
    else if (steps[event.key]) this.step(...steps[event.key], event.shiftKey ? 10 : 1);
    else return;
    event.preventDefault();
  }

  step(dx, dy, times) {
    const at = this.at || { column: Math.floor(this.x), row: Math.floor(this.y) }, data = this.data;
    const limit = (value, size) => Math.min(Math.max(value, 0), size - 1);
    this.at = this.at ? { column: limit(at.column + dx * times, data.mutantCount), row: limit(at.row + dy * times, data.testCount) } : at;
    const columns = this.width / this.scaleX, rows = this.height / this.scaleY;
    this.x = Math.min(Math.max(this.x, this.at.column + 1 - columns), this.at.column);
    this.y = Math.min(Math.max(this.y, this.at.row + 1 - rows), this.at.row);
    this.render();
    const box = this.canvas.getBoundingClientRect();
    showTip(this.describe(this.at), box.left + (this.at.column - this.x) * this.scaleX, box.top + (this.at.row - this.y) * this.scaleY);
  }
}

function rgb(text) {
  const value = parseInt(text.slice(1), 16);
  return (0xff000000 | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0; // little-endian ABGR
}
