"use strict";
// Which page is shown: the part of the address after #.

let onThemeChange = () => {};
const tip = document.getElementById("tip");

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (y + 22 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 12 : y + 18) + "px";
}

function hideTip() { tip.hidden = true; }

function themes() {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    onThemeChange();
  });
  system.addEventListener("change", () => onThemeChange());
}

function route(data) {
  const [page, argument] = location.hash.slice(1).split("/");
  const index = Number(argument), known = (size) => argument !== undefined && Number.isInteger(index) && index >= 0 && index < size;
  if (page === "f" && known(data.paths.length)) return ["", filePage(data, index)];
  if (page === "m" && known(data.mutantCount)) return ["", filePage(data, data.mutants.path[index], index)];
  if (page === "t" && known(data.testCount)) return ["tests", testPage(data, index)];
  if (page === "tests" && data.run) return ["tests", testsPage(data)];
  if (page === "matrix" && data.run) return ["matrix", matrixPage(data)];
  if (page === "delta" && data.delta) return ["delta", deltaPage(data)];
  if (data.harness.length && (page === "harness" || !data.run)) return ["harness", harnessPage(data)];
  return ["", overview(data)];
}

async function begin() {
  const main = document.getElementById("main");
  themes();
  if (typeof DecompressionStream === "undefined") {
    main.replaceChildren(h("p", { class: "alarm" }, "This browser cannot unpack the page (no DecompressionStream); any from 2023 on can."));
    return;
  }
  const data = await Data.load();
  const pages = [...(data.run ? [["", "Overview"], ["tests", "Tests"], ["matrix", "Matrix"]] : []),
    ...(data.delta ? [["delta", "Delta"]] : []), ...(data.harness.length ? [["harness", "Harness"]] : [])];
  const links = pages.map(([hash, title]) => [hash, h("a", { href: "#" + hash }, title)]);
  document.getElementById("nav").append(...links.map(([, link]) => h("li", {}, link)));
  const show = (first) => {
    if (location.hash === "#main") return;
    hideTip();
    const [current, content] = route(data);
    main.replaceChildren(...[content].flat(Infinity).filter(Boolean));
    for (const [hash, link] of links) {
      if (hash === current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    const heading = main.querySelector("h1");
    document.title = heading && heading.textContent !== data.title ? heading.textContent + " – " + data.title : data.title;
    if (!first && !location.hash.startsWith("#m/")) { window.scrollTo(0, 0); main.focus({ preventScroll: true }); }
  };
  window.addEventListener("hashchange", () => show(false));
  show(true);
  document.body.dataset.ready = "yes";
}

begin();
