"use strict";
// Overview, tests, one test, delta.

const colour = (status) => "var(--" + (status in GLYPHS ? status : "other") + ")";
const tag = (status) => h("span", { class: "tag", style: "color:" + colour(status) }, (GLYPHS[status] || "·") + " " + status.replaceAll("_", " "));
const mutantLink = (data, mutant) => h("a", { href: "#m/" + mutant, class: "code" }, cut(data.change(mutant), 110));
const testLink = (data, test) => h("a", { href: "#t/" + test }, data.tests.id[test]);

function bar(found) {
  const total = [...DETECTED, ...UNDETECTED].reduce((sum, status) => sum + (found[status] || 0), 0);
  const parts = [...DETECTED, ...UNDETECTED].filter((status) => found[status]);
  return h("div", { class: "bar", role: "img", "aria-label": parts.map((status) => status.replaceAll("_", " ") + " " + found[status]).join(", ") || "none judged" },
    parts.map((status) => h("i", { style: "width:" + (100 * found[status]) / total + "%;background:" + colour(status), title: status + " " + found[status] })));
}

function overview(data) {
  const score = data.score, run = data.run;
  const byPath = data.paths.map(() => []);
  for (let mutant = 0; mutant < data.mutantCount; mutant++) byPath[data.mutants.path[mutant]].push(mutant);
  const files = data.paths.map((path, index) => {
    const found = data.counts(byPath[index]);
    const sum = (names) => names.reduce((total, name) => total + (found[name] || 0), 0);
    return { path, index, found, mutants: byPath[index].length, killed: found.killed || 0, survived: found.survived || 0,
      uncovered: (found.no_coverage || 0) + (found.no_usable_test || 0) + (found.silenced || 0),
      detected: sum(DETECTED), judged: sum(DETECTED) + sum(UNDETECTED) };
  });
  const alarms = run.controls.noop_kills.map((name) => "Not to be trusted: a control that changes nothing was killed: " + name);
  for (const [route, verdict] of Object.entries(run.controls.routes)) {
    if (verdict !== "ok" && verdict !== "not exercised") alarms.push("Not to be trusted: control of route " + route + ": " + verdict);
  }
  if (data.unfinished) alarms.push(data.unfinished[0].toUpperCase() + data.unfinished.slice(1) + ".");
  const card = (title, ratio, words) => h("li", {}, title, h("strong", {}, percent(ratio.numerator, ratio.denominator)),
    h("span", { class: "soft" }, number(ratio.numerator) + " of " + number(ratio.denominator) + ": " + words));
  return [
    h("h1", {}, data.title),
    alarms.map((alarm) => h("p", { class: "alarm" }, alarm)),
    h("ul", { class: "cards" },
      card("assertion score", score.assertion, "killed / (killed + survived)"),
      card("detection score", score.detection, "detected / (detected + not)"),
      card("reached", { numerator: score.reached[0], denominator: score.reached[1] }, "mutants that a test runs"),
      h("li", {}, "matrix", h("strong", {}, number(data.cellTest.length)),
        h("span", { class: "soft" }, "cells of " + count(data.mutantCount, "mutant") + " and " + count(data.testCount, "test"))),
      data.delta && h("li", {}, "delta", h("strong", {}, data.delta.verdict), h("a", { href: "#delta" }, "against " + data.delta.baseline))),
    h("p", {}, [...DETECTED, ...UNDETECTED, ...UNJUDGED].filter((status) => score.counts[status])
      .map((status, index) => [index ? " · " : "", tag(status), " " + number(score.counts[status])])),
    h("h2", {}, "Files"),
    table("Mutants by file; a ratio stands with its fraction.", [
      { title: "file", wide: true, value: (row) => row.path, show: (row) => h("a", { href: "#f/" + row.index }, row.path) },
      { title: "mutants", numeric: true, value: (row) => row.mutants, show: (row) => number(row.mutants) },
      { title: "what became of them", value: (row) => row.detected / (row.judged || 1), show: (row) => bar(row.found) },
      { title: "assertion", numeric: true, value: (row) => row.killed / (row.killed + row.survived || 1), show: (row) => fraction(row.killed, row.killed + row.survived) },
      { title: "detection", numeric: true, value: (row) => row.detected / (row.judged || 1), show: (row) => fraction(row.detected, row.judged) },
      { title: "survived", numeric: true, value: (row) => row.survived, show: (row) => number(row.survived) },
      { title: "not covered", numeric: true, value: (row) => row.uncovered, show: (row) => number(row.uncovered) },
    ], files),
    survivors(data),
    operators(data),
    data.history.length > 1 && [h("h2", {}, "Runs in this sidecar"), table("Newest last; this page shows run " + data.number + ".", [
      { title: "run", numeric: true, value: (row) => row.run }, { title: "started", value: (row) => row.started }, { title: "commit", value: (row) => row.commit },
      { title: "mutants", numeric: true, value: (row) => row.mutants, show: (row) => number(row.mutants) },
      ...["assertion", "detection"].map((name) => ({ title: name, numeric: true, value: (row) => row[name][0] / (row[name][1] || 1), show: (row) => fraction(...row[name]) })),
      { title: "", value: (row) => (row.complete ? "" : "interrupted") },
    ], data.history)],
    h("h2", {}, "Run"),
    h("dl", { class: "facts" }, [
      ["id", run.id], ["started", run.started], ["took", run.seconds.toFixed(1) + " s, " + run.cpu.total.toFixed(1) + " s of processor time"],
      ["commit", (run.commit || "none") + (run.dirty ? ", with changes" : "")], ["Python", run.python + ", " + run.platform],
      ["set", score.reference_set], ...data.notes.map((note) => ["note", note]),
    ].map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))])),
  ];
}

const fraction = (numerator, denominator) => percent(numerator, denominator) + " (" + number(numerator) + "/" + number(denominator) + ")";

function operators(data) {
  const groups = new Map();
  for (let mutant = 0; mutant < data.mutantCount; mutant++) {
    const name = data.mutants.operator[mutant];
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(mutant);
  }
  const rows = [...groups].map(([name, mutants]) => ({ name, mutants: mutants.length, found: data.counts(mutants) }));
  const of = (row, status) => row.found[status] || 0;
  return [h("h2", {}, "Operators"), table("Mutants by the rule that made them.", [
    { title: "operator", value: (row) => row.name },
    { title: "mutants", numeric: true, value: (row) => row.mutants, show: (row) => number(row.mutants) },
    { title: "what became of them", value: (row) => of(row, "killed") / row.mutants, show: (row) => bar(row.found) },
    { title: "assertion", numeric: true, value: (row) => of(row, "killed") / (of(row, "killed") + of(row, "survived") || 1), show: (row) => fraction(of(row, "killed"), of(row, "killed") + of(row, "survived")) },
    { title: "survived", numeric: true, value: (row) => of(row, "survived"), show: (row) => number(of(row, "survived")) },
  ], rows)];
}

function survivors(data) {
  const rows = [];
  for (let mutant = 0; mutant < data.mutantCount; mutant++) if (data.status(mutant) === "survived") rows.push(mutant);
  if (!rows.length) return null;
  const why = (mutant) => data.why[mutant] || {};
  rows.sort((a, b) => Boolean(why(b).title) - Boolean(why(a).title) || a - b); // what is known can be acted on
  const kinds = {};
  for (const mutant of rows) kinds[why(mutant).title || "cannot be told"] = (kinds[why(mutant).title || "cannot be told"] || 0) + 1;
  return [
    h("h2", {}, "Survived"),
    h("ul", {}, Object.entries(kinds).sort((a, b) => b[1] - a[1]).map(([kind, times]) => h("li", {}, number(times) + ": " + kind))),
    table("Tests ran these changes, and none failed.", [
      { title: "place", value: (mutant) => data.place(mutant).replace(/\d+$/, (line) => line.padStart(7, "0")), show: (mutant) => h("a", { href: "#m/" + mutant }, data.place(mutant)) },
      { title: "change", wide: true, value: (mutant) => data.change(mutant), show: (mutant) => mutantLink(data, mutant) },
      { title: "tests", numeric: true, value: (mutant) => why(mutant).reached || 0, show: (mutant) => number(why(mutant).reached || 0) },
      { title: "why", wide: true, value: (mutant) => why(mutant).title || "", show: (mutant) => why(mutant).reason || "" },
    ], rows, 50),
  ];
}

function testsPage(data) {
  const rows = Array.from({ length: data.testCount }, (_, test) => test);
  const box = h("div");
  const filters = [
    ["all", () => true], ["kill nothing", (test) => data.met[test] && !data.killed[test]],
    ["kill nothing that no other test kills", (test) => data.killed[test] && !data.unique[test]], ["left out", (test) => data.tests.excluded[test] !== null],
  ];
  const fill = (choice) => box.replaceChildren(table("With respect to the mutants of this run.", [
    { title: "test", wide: true, value: (test) => data.tests.id[test], show: (test) => testLink(data, test) },
    { title: "met", numeric: true, value: (test) => data.met[test], show: (test) => number(data.met[test]) },
    { title: "kills", numeric: true, value: (test) => data.killed[test], show: (test) => number(data.killed[test]) },
    { title: "by assertion", numeric: true, value: (test) => data.asserted[test], show: (test) => number(data.asserted[test]) },
    { title: "only it kills", numeric: true, value: (test) => data.unique[test], show: (test) => number(data.unique[test]) },
    { title: "time", numeric: true, value: (test) => data.tests.seconds[test], show: (test) => seconds(data.tests.seconds[test]) },
    { title: "state", value: (test) => data.tests.excluded[test] || "", show: (test) => (data.tests.excluded[test] ? "left out: " + data.tests.excluded[test] : data.tests.change[test] || "") },
  ], rows.filter(filters[choice][1])));
  fill(0);
  return [
    h("h1", {}, "Tests"),
    h("fieldset", { class: "filters" }, h("legend", { class: "soft" }, "Show"), filters.map(([name, takes], index) =>
      h("label", {}, h("input", { type: "radio", name: "tests", checked: index === 0, onchange: () => fill(index) }), " " + name + " (" + number(rows.filter(takes).length) + ")"))),
    box,
  ];
}

function testPage(data, test) {
  const cells = Array.from(data.testCells.subarray(data.testFirst[test], data.testFirst[test + 1]));
  const groups = [
    ["Only this test kills", cells.filter((cell) => data.only[data.cellMutant[cell]] === test)],
    ["Others kill these too", cells.filter((cell) => kills(data.cellCode[cell] & 7) && data.only[data.cellMutant[cell]] !== test)],
    ["Met and not noticed", cells.filter((cell) => !kills(data.cellCode[cell] & 7))],
  ];
  const facts = data.tests;
  return [
    h("h1", {}, facts.id[test]),
    h("ul", { class: "cards" }, [["kills", data.killed[test]], ["by assertion", data.asserted[test]], ["only it kills", data.unique[test]], ["met", data.met[test]]]
      .map(([name, value]) => h("li", {}, name, h("strong", {}, number(value)))),
      h("li", {}, "time", h("strong", {}, seconds(facts.seconds[test])), h("span", { class: "soft" }, "on unmutated code"))),
    h("p", {}, ["clean: " + facts.clean[test], "suite " + facts.suite[test], facts.change[test], facts.excluded[test] && "left out: " + facts.excluded[test]].filter(Boolean).join(" · ")),
    groups.filter(([, found]) => found.length).map(([title, found]) => [
      h("h2", {}, title + " (" + number(found.length) + ")"),
      table(title, [
        { title: "place", value: (cell) => data.place(data.cellMutant[cell]), show: (cell) => h("a", { href: "#m/" + data.cellMutant[cell] }, data.place(data.cellMutant[cell])) },
        { title: "change", wide: true, value: (cell) => data.change(data.cellMutant[cell]), show: (cell) => mutantLink(data, data.cellMutant[cell]) },
        { title: "outcome", value: (cell) => OUTCOMES[data.cellCode[cell] & 7] },
        { title: "said", wide: true, value: (cell) => said(data, cell) },
      ], found, 100, true),
    ]),
  ];
}

function said(data, cell) {
  const detail = data.details.get(cell);
  if (!detail) return "";
  const [exception, message, place] = detail.map((index) => (index ? data.strings[index - 1] : ""));
  return [exception, message].filter(Boolean).join(": ") + (place ? " at " + place : "");
}

function deltaPage(data) {
  const delta = data.delta;
  const list = (title, entries, columns) => entries.length > 0 && [h("h2", {}, title + " (" + number(entries.length) + ")"), table(title, columns, entries, 200, true)];
  const key = { title: "mutant", wide: true, value: (row) => row.mutant || row, show: (row) => keyLink(data, row.mutant || row) };
  const tests = (field) => ({ title: "tests", wide: true, value: (row) => (row[field] || []).join(", ") });
  return [
    h("h1", {}, "Delta against " + delta.baseline),
    h("p", { class: delta.lost.length ? "alarm" : null }, h("strong", {}, data.delta_words[0])),
    h("p", {}, "Over one set of mutants: " + data.delta_words[1] + "."),
    list("Gained", delta.gained, [key, { title: "by", value: (row) => row.by }, { title: "tests are", value: (row) => row.origin }, tests("killed_by")]),
    list("Lost", delta.lost, [key, { title: "by", value: (row) => row.by }, tests("was_killed_by")]),
    list("Upgraded to an assertion", delta.upgraded, [key]),
    list("Downgraded from an assertion", delta.downgraded, [key]),
    list("Not confirmed", delta.unconfirmed, [key, { title: "why", wide: true, value: (row) => row.why }]),
    list("Undecided", delta.undecided, [key]),
    list("By test", delta.by_test, [
      { title: "test", wide: true, value: (row) => row.nodeid }, { title: "change", value: (row) => row.change || "" },
      { title: "gained", numeric: true, value: (row) => row.gained }, { title: "by it alone", numeric: true, value: (row) => row.unique },
      { title: "verdict", value: (row) => row.verdict || "" },
    ]),
    h("p", { class: "soft" }, "Kept: " + number(delta.kept) + ". Still alive: " + number(delta.still_alive) + "."),
  ];
}

function keyLink(data, key) {
  const mutant = data.mutants.key.indexOf(key);
  return mutant < 0 ? key : h("a", { href: "#m/" + mutant }, key);
}
