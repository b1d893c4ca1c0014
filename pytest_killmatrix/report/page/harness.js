"use strict";
// Harness runs: mutants of an agent harness instead of code, and whether graders or specs noticed them.

function harnessPage(data) {
  return [
    h("h1", {}, "Harness"),
    h("p", {}, "Each mutant drops one component of an agent harness. Killed: the resolved rate differs, or a spec that held no longer does. ",
      "Mutants that are equivalent or were not run stand on neither side of the score."),
    data.harness.map((run) => harnessRun(run)),
  ];
}

function harnessRun(run) {
  const title = run.harness + ", base '" + run.base + "', run " + run.run;
  const facts = [["started", run.started], ["run set", run.run_set],
    ["planned", count(run.tasks, "task") + ", " + count(run.trials, "trial") + " each"],
    ["noop control", run.control]];
  return [
    h("h2", {}, title),
    h("p", { class: run.withheld ? "alarm" : null }, h("strong", {}, run.headline[0].toUpperCase() + run.headline.slice(1) + ".")),
    run.notes.length > 0 && h("ul", {}, run.notes.map((note) => h("li", {}, note))),
    table("Mutants of " + title, [
      { title: "drops", wide: true, value: (row) => row.drops, show: (row) => [row.drops, h("div", { class: "code soft" }, row.name)] },
      { title: "verdict", value: (row) => row.verdict || "", show: (row) => [tag(row.verdict || "not scored yet"), row.unconfirmed ? " unconfirmed" : ""] },
      { title: "why", wide: true, value: (row) => row.why || "" },
      { title: "role", wide: true, value: (row) => row.role || "", show: (row) => [row.role || "", row.role_why ? h("div", { class: "soft" }, row.role_why) : ""] },
      { title: "suggestion", value: (row) => (row.suggestion ? 0 : 1), show: (row) => suggestion(row) },
    ], run.mutants, 200, true),
    h("dl", { class: "facts" }, facts.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
  ];
}

function suggestion(row) {
  if (!row.suggestion) return "";
  return h("details", {}, h("summary", { "aria-label": "a spec worth adding for " + row.drops }, "a spec worth adding"), h("pre", {}, row.suggestion));
}
