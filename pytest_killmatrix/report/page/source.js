"use strict";
// A file's source with its mutants in place, and what is known of one of them.

function filePage(data, path, opened) {
  const lines = data.source(path);
  const byLine = new Map();
  for (let mutant = 0; mutant < data.mutantCount; mutant++) {
    if (data.mutants.path[mutant] !== path) continue;
    const line = data.mutants.line[mutant];
    if (!byLine.has(line)) byLine.set(line, []);
    byLine.get(line).push(mutant);
  }
  const mutants = [...byLine.values()].flat();
  const statuses = data.counts(mutants);
  const hidden = new Set();
  const box = h("div", { class: "source code" });
  const texts = lines || Array.from({ length: Math.max(0, ...byLine.keys()) }, () => "");
  const found = tokens(texts);
  const rows = texts.map((text, index) => sourceRow(data, index + 1, text, byLine.get(index + 1) || [], found[index]));
  box.append(...rows);
  const show = () => box.querySelectorAll(".dot").forEach((dot) => { dot.hidden = hidden.has(dot.dataset.status); });
  if (opened !== undefined) {
    const dot = rows[data.mutants.line[opened] - 1].querySelector('[data-mutant="' + opened + '"]');
    dot.click();
    setTimeout(() => { dot.scrollIntoView({ block: "center" }); dot.focus({ preventScroll: true }); });
  }
  return [
    h("h1", {}, data.paths[path]),
    bar(statuses),
    lines ? null : h("p", { class: "soft" }, "The text of this file was not kept; the mutants stand on their lines."),
    h("fieldset", { class: "filters" }, h("legend", { class: "soft" }, "Mutants shown"), Object.keys(statuses).sort().map((status) =>
      h("label", {}, h("input", { type: "checkbox", checked: true, onchange: (event) => {
        if (event.target.checked) hidden.delete(status); else hidden.add(status);
        show();
      } }), " ", tag(status), " " + number(statuses[status])))),
    box,
  ];
}

function sourceRow(data, line, text, mutants, found) {
  const row = h("div", { class: "row" }, h("span", { class: "no" }, String(line)));
  const dots = mutants.map((mutant) => {
    const status = data.status(mutant);
    return h("button", {
      type: "button", class: "dot", style: "color:" + colour(status), "data-mutant": mutant, "data-status": status, "aria-expanded": "false",
      "aria-label": status.replaceAll("_", " ") + ": " + cut(data.change(mutant), 80), title: status + ": " + cut(data.change(mutant), 80),
      onclick: (event) => toggle(data, row, event.currentTarget, mutant),
    }, GLYPHS[status] || "·");
  });
  row.append(h("div", { class: "text" }, h("pre", {}, marked(data, text, mutants, found)), dots.length ? h("span", { class: "dots" }, dots) : null));
  return row;
}

const TOKEN = /(#.*)|((?:[rbfu]{0,2})(?:"""|\'\'\'))|([rbfu]{0,2}"(?:[^"\\]|\\.)*"|[rbfu]{0,2}'(?:[^'\\]|\\.)*')|\b(and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False)\b/gi;

// For each line its comments, strings and keywords: [start, end, kind]. A string of several lines is followed.
function tokens(lines) {
  let open = null;
  return lines.map((text) => {
    const found = [];
    let at = 0;
    while (at < text.length) {
      if (open) {
        const end = text.indexOf(open, at);
        const stop = end < 0 ? text.length : end + 3;
        found.push([at, stop, "str"]);
        if (end >= 0) open = null;
        at = stop;
        continue;
      }
      TOKEN.lastIndex = at;
      const match = TOKEN.exec(text);
      if (!match) break;
      at = match.index + match[0].length;
      if (match[2]) {
        const end = text.indexOf(match[2].slice(-3), at);
        if (end < 0) open = match[2].slice(-3);
        at = end < 0 ? text.length : end + 3;
        found.push([match.index, at, "str"]);
      } else if (match[1]) found.push([match.index, at, "com"]);
      else if (match[3]) found.push([match.index, at, "str"]);
      else if (/^[a-z]|None|True|False/.test(match[4])) found.push([match.index, at, "key"]);
    }
    return found;
  });
}

// The text with its tokens; what no test noticed is underlined.
function marked(data, text, mutants, found) {
  if (!text) return " ";
  const units = (column) => Array.from(text).slice(0, column).join("").length; // columns are code points, JavaScript's are not
  const hot = mutants.filter((mutant) => data.status(mutant) === "survived" && data.mutants.end_line[mutant] === data.mutants.line[mutant])
    .map((mutant) => [units(data.mutants.column[mutant]), units(data.mutants.end_column[mutant]), "hot"]);
  const spans = [...found, ...hot];
  const edges = [...new Set([0, text.length, ...spans.flatMap(([start, end]) => [start, end])])].sort((a, b) => a - b);
  return edges.slice(0, -1).map((start, index) => {
    const kinds = spans.filter(([from, to]) => from <= start && start < to).map((span) => span[2]);
    const piece = text.slice(start, edges[index + 1]);
    return kinds.length ? h("span", { class: kinds.join(" ") }, piece) : piece;
  });
}

function toggle(data, row, dot, mutant) {
  const open = dot.getAttribute("aria-expanded") === "true";
  document.querySelectorAll(".panel").forEach((panel) => panel.remove());
  document.querySelectorAll('.dot[aria-expanded="true"]').forEach((other) => other.setAttribute("aria-expanded", "false"));
  if (open) return;
  dot.setAttribute("aria-expanded", "true");
  row.append(mutantPanel(data, mutant));
  history.replaceState(null, "", "#m/" + mutant);
}

function mutantPanel(data, mutant) {
  const facts = data.mutants, why = data.why[mutant], status = data.status(mutant);
  const cells = [];
  for (let cell = data.first[mutant]; cell < data.first[mutant + 1]; cell++) cells.push(cell);
  const killing = cells.filter((cell) => kills(data.cellCode[cell] & 7)), others = cells.filter((cell) => !kills(data.cellCode[cell] & 7));
  const marks = [facts.definition[mutant], facts.operator[mutant], facts.static[mutant] && "runs at import", facts.string_only[mutant] && "only a string",
    facts.reason[mutant], facts.duplicate_of[mutant] && "same code as " + facts.duplicate_of[mutant]].filter(Boolean);
  return h("section", { class: "panel", "aria-label": "Mutant " + data.place(mutant) },
    h("h3", {}, tag(status), cells.length ? ": " + number(killing.length) + " of " + count(cells.length, "test") + " noticed" : ""),
    h("p", { class: "soft" }, marks.join(" · "), h("br"), h("code", {}, facts.key[mutant])),
    diff(data, mutant),
    why && h("div", { class: "why" }, why.title && h("p", {}, h("strong", {}, why.title)), why.reason && h("p", {}, why.reason),
      (why.samples || []).map((sample) => h("p", {}, h("code", {}, sample))), why.need && h("p", {}, "Needs " + why.need + ".")),
    cellList(data, "Killed by", killing, true), cellList(data, "Not noticed by", others, false));
}

function cellList(data, title, cells, open) {
  if (!cells.length) return null;
  return h("details", { open }, h("summary", {}, title + " (" + number(cells.length) + ")"), table(title, [
    { title: "test", wide: true, value: (cell) => data.tests.id[data.cellTest[cell]], show: (cell) => testLink(data, data.cellTest[cell]) },
    { title: "outcome", value: (cell) => OUTCOMES[data.cellCode[cell] & 7] },
    { title: "in", value: (cell) => PHASES[(data.cellCode[cell] >> 3) & 3] },
    { title: "ran", value: (cell) => (data.cellCode[cell] & 64 ? "alone" : "in a row") + (data.cellCode[cell] & 32 ? ", old suite" : "") },
    { title: "said", wide: true, value: (cell) => said(data, cell) },
  ], cells, 50, true));
}

function diff(data, mutant) {
  const facts = data.mutants, lines = data.source(facts.path[mutant]);
  const row = (sign, text, kind) => h("div", { class: kind }, sign + " " + text);
  const box = h("div", { class: "diff code", role: "group", "aria-label": "Diff", tabindex: "0" });
  const before = facts.original[mutant].split(/\r\n|\r|\n/);
  if (!lines || facts.end_line[mutant] > lines.length) {
    box.append(...before.map((text) => row("-", text, "del")), ...facts.replacement[mutant].split(/\r\n|\r|\n/).map((text) => row("+", text, "add")));
    return box;
  }
  const first = facts.line[mutant] - 1, last = facts.end_line[mutant];
  const old = lines.slice(first, last);
  const head = Array.from(old[0]).slice(0, facts.column[mutant]).join("");
  const tail = Array.from(old[old.length - 1]).slice(facts.end_column[mutant]).join("");
  let fresh = (head + facts.replacement[mutant] + tail).split(/\r\n|\r|\n/);
  if (fresh.every((text) => !text.trim())) fresh = [];
  box.append(...lines.slice(Math.max(0, first - 3), first).map((text) => row(" ", text)),
    ...old.map((text) => row("-", text, "del")), ...fresh.map((text) => row("+", text, "add")),
    ...lines.slice(last, last + 3).map((text) => row(" ", text)));
  return box;
}
