"use strict";
// Small helpers: elements, numbers, tables. Text goes in as text nodes only, so nothing of it can become markup.

function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") element.style.cssText = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const number = (value) => value.toLocaleString("en");
const count = (value, noun) => number(value) + " " + noun + (value === 1 ? "" : "s");

// 100 and 0 only where they are true
function percent(numerator, denominator) {
  if (!denominator) return "–";
  let tenths = Math.round((1000 * numerator) / denominator);
  if (numerator < denominator) tenths = Math.min(tenths, 999);
  if (numerator > 0) tenths = Math.max(tenths, 1);
  return (tenths / 10).toFixed(1) + " %";
}

function seconds(value) {
  return value < 1 ? (value * 1000).toFixed(1) + " ms" : value.toFixed(2) + " s";
}

const oneLine = (text) => text.split(/\s+/).join(" ").trim();
const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);

// A table whose columns can be sorted: {title, value(row) for sorting, show(row) -> node or text, numeric}.
function table(caption, columns, rows, limit = 200, hidden = false) {
  let sorted = rows.slice(), by = -1, down = false, shown = limit;
  const body = h("tbody");
  const more = h("button", { type: "button", onclick: () => { shown = Infinity; fill(); } });
  const heads = columns.map((column, index) =>
    h("th", { scope: "col", class: column.numeric ? "n" : null },
      h("button", { type: "button", onclick: () => sort(index) }, column.title)));
  function fill() {
    body.replaceChildren(...sorted.slice(0, shown).map((row) =>
      h("tr", {}, columns.map((column) =>
        h("td", { class: column.numeric ? "n" : column.wide ? "wide" : null }, column.show ? column.show(row) : column.value(row))))));
    more.hidden = sorted.length <= shown;
    more.textContent = "Show all " + number(sorted.length);
  }
  function sort(index) {
    down = by === index ? !down : Boolean(columns[index].numeric);
    by = index;
    const value = columns[index].value;
    sorted = rows.slice().sort((a, b) => {
      const x = value(a), y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    heads.forEach((head, place) => {
      if (place === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    fill();
  }
  fill();
  return h("div", { class: "scroll" },
    h("table", {}, h("caption", { class: hidden ? "hidden" : "soft", style: "text-align:left" }, caption), h("thead", {}, h("tr", {}, heads)), body), more);
}
