// SPDX-License-Identifier: Apache-2.0
/// @file
/// The style of charts and pages, and the script of a page. Neither loads anything.
#pragma once

#include <assay/core/requirements.hpp>

#include <string_view>

namespace assay::report {

/// The colours of charts, for light and dark, and how their parts are drawn.
inline constexpr std::string_view chart_style = R"(
:root{color-scheme:light dark;--page:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d8dde3;
--band:#e9edf2;
--s0:#1d5fa6;--s1:#b8500a;--s2:#23784a;--s3:#84399a;--s4:#7d6200;--s5:#ab2346;--cyan:#127a8c}
@media (prefers-color-scheme:dark){:root{--page:#15181c;--ink:#e7eaed;--soft:#a0a9b4;--line:#363d46;
--band:#272e36;--s0:#74b4ff;--s1:#ff9f5c;--s2:#63d193;--s3:#d7a0ff;--s4:#e2c450;--s5:#ff869d;
--cyan:#5cd6e8}}
@media print{:root{color-scheme:light;--page:#fff;--ink:#000;--soft:#333;--line:#bbb;--band:#e4e4e4;
--s0:#1d5fa6;--s1:#b8500a;--s2:#23784a;--s3:#84399a;--s4:#7d6200;--s5:#ab2346;--cyan:#127a8c}}
.s0{--c:var(--s0);--d:none}.s1{--c:var(--s1);--d:7 3}.s2{--c:var(--s2);--d:2 3}
.s3{--c:var(--s3);--d:9 3 2 3}.s4{--c:var(--s4);--d:14 4}.s5{--c:var(--s5);--d:4 2 1 2 1 2}
svg.chart,svg.chart svg{overflow:visible}
svg.chart{display:block;box-sizing:content-box;font:12px system-ui,sans-serif;
font-variant-numeric:tabular-nums}
svg text{fill:var(--soft)}svg .note{fill:var(--ink);paint-order:stroke;stroke:var(--page);
stroke-width:3px}
svg .unit{font-size:12px}
svg line{stroke:var(--line)}svg .base{stroke:var(--soft)}svg .rule{stroke:var(--soft)}
svg .analysis{stroke:var(--soft);stroke-dasharray:2 4}
svg .band{fill:var(--band)}svg .dropped{fill:var(--s5);fill-opacity:.2}
svg path{vector-effect:non-scaling-stroke}
svg .line{fill:none;stroke:var(--c);stroke-width:1.8;stroke-dasharray:var(--d);
stroke-linejoin:round}
svg .between{fill:var(--c);fill-opacity:.18}
svg .dots{fill:none;stroke:var(--c);stroke-width:3;stroke-linecap:round;stroke-opacity:.55}
svg .interval{stroke:var(--c);stroke-width:2.2}svg .whisker{stroke:var(--ink);stroke-width:1.6}
svg .mark path{fill:var(--c);stroke:var(--page);stroke-width:.8}
svg .mark.open path{fill:var(--page);stroke:var(--c);stroke-width:1.8}
svg .bar{fill:var(--c);stroke:var(--c)}svg .bar.s1{fill-opacity:.55}svg .bar.s2{fill-opacity:.15}
svg .step.more{fill:var(--s1)}svg .step.less{fill:var(--s2)}
svg .step.tracing{fill:var(--soft);fill-opacity:.55}
svg .step.unsure,svg .step.rest{fill:var(--band);stroke:var(--soft);stroke-dasharray:3 2}
svg.chart svg.view{touch-action:pan-y;cursor:grab;overflow:hidden}svg .ground{fill:transparent}
svg .view .bar path{vector-effect:non-scaling-stroke}
svg .view .bar,svg.key .span{fill-opacity:1}.range-allocation{--c:var(--cyan)}
.host-call{--c:var(--soft)}
svg .view .bar{stroke-width:.6;stroke-opacity:.7}
svg .heat rect{fill:var(--s0);fill-opacity:calc(.06 + .5*var(--shade));stroke:var(--page);
stroke-width:2}
svg .heat text{fill:var(--ink)}
svg.key{vertical-align:-1px;margin-right:6px;overflow:visible}svg.key svg{overflow:visible}
)";

/// The style of a page around its charts.
inline constexpr std::string_view page_style = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
overflow-wrap:anywhere}
main{max-width:1520px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:1.15rem;font-weight:600;color:var(--soft);margin:0 0 6px}
h2{font-size:1.15rem;margin:44px 0 10px;padding-top:14px;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:26px 0 6px}h4{font-size:.9375rem;margin:20px 0 6px}
nav{font-size:.875rem}
.choice{font-size:1.5rem;line-height:1.35;margin:0 0 10px;max-width:50em}
.choice .verdict{white-space:normal}
.headline{font-size:1.125rem;line-height:1.4;margin:0 0 10px;max-width:56em}
.soft,.note,.left-out,.legend{color:var(--soft);font-size:.875rem}
p{margin:6px 0;max-width:62em}
.left-out{border-left:3px solid var(--s1);padding-left:10px}
nav ul,.legend,.forest{list-style:none;padding:0;margin:8px 0}
nav li,.legend li{display:inline-block;margin:0 22px 4px 0}
a{color:var(--s0)}
.verdict{font-weight:650}.verdict,.whole{white-space:nowrap}
.faster{color:var(--s2)}.slower{color:var(--s1)}.wrong{color:var(--s5)}.equal{color:var(--s0)}
.differs{color:var(--s3)}
.open{color:var(--soft)}
.forest li{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,5fr) minmax(0,4fr);gap:0 26px;
align-items:center;padding:5px 0;border-bottom:1px solid var(--line);font-size:.875rem;
line-height:1.35}
.forest li:last-child{border:0}
.waterfall li{grid-template-columns:minmax(0,1fr) auto;gap:2px 20px}
.waterfall .strip{grid-column:1/-1;grid-row:2;padding:0 4px}.waterfall .value{text-align:right}
.strip{padding:0 20px}.value{font-variant-numeric:tabular-nums}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,330px),1fr));
gap:26px 36px}
figure{margin:12px 0 0;min-width:0;break-inside:avoid}
.figures>figure:only-child{grid-column:1/-1;max-width:700px}
.zoom-keys{display:flex;flex-wrap:wrap;gap:6px;margin:8px 0}
.zoom-keys button{font:inherit;min-width:38px;min-height:32px;color:var(--ink);cursor:pointer;
background:var(--band);border:1px solid var(--line);border-radius:4px}
figcaption{font-size:.9375rem;font-weight:600;line-height:1.35}
details{margin:12px 0}summary{cursor:pointer;color:var(--s0);font-size:.9375rem}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.875rem;line-height:1.4;margin:6px 0;overflow-wrap:normal}
caption{text-align:left;color:var(--soft);padding:2px 0 6px}
th,td{text-align:left;vertical-align:top;padding:3px 16px 3px 0;border-bottom:1px solid var(--line)}
td{max-width:30em}td:first-child{min-width:11em}td.n:first-child{min-width:0}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
th.n{white-space:normal}
th button{all:unset;cursor:pointer;font-weight:600}
th button:focus-visible,.zoom-keys button:focus-visible,summary:focus-visible,.scroll:focus-visible,
a:focus-visible{outline:2px solid var(--s0);outline-offset:2px}
th button::after{content:" \2195";color:var(--soft)}
th[aria-sort=ascending] button::after{content:" \2191"}
th[aria-sort=descending] button::after{content:" \2193"}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 20px;font-size:.9375rem}
dt{color:var(--soft)}dd{margin:0}
code{font:.9em ui-monospace,monospace;background:var(--band);padding:2px 6px;border-radius:4px}
@media (max-width:900px){.forest li{grid-template-columns:minmax(0,1fr);gap:4px;padding:9px 0}}
@media (max-width:720px){main{padding:18px 14px 40px}.choice{font-size:1.25rem}
.headline{font-size:1rem}
.waterfall li{grid-template-columns:minmax(0,1fr)}.waterfall .strip{grid-row:auto}
.waterfall .value{text-align:left}
dl{grid-template-columns:minmax(0,1fr);gap:0}
dd{margin-bottom:8px}}
@media print{body{font-size:11pt}main{max-width:none;padding:0}details:not([open]),nav,
.zoom-keys{display:none}
h2{break-after:avoid}.figures{grid-template-columns:1fr 1fr}}
)";

/// A press on the head of a column sorts its table; the next press sorts it backwards. The buttons,
/// the wheel and a drag move timelines; the tick at the left then tells the time, and others their
/// distance.
inline constexpr std::string_view page_script = R"(
document.addEventListener("click", function (event) {
  const button = event.target.closest("th button");
  if (!button) { return; }
  const head = button.parentNode, body = head.closest("table").tBodies[0];
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const each of head.parentNode.cells) { each.removeAttribute("aria-sort"); }
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = row => {
    const cell = row.cells[head.cellIndex];
    return "n" in cell.dataset ? Number(cell.dataset.n) : cell.textContent;
  };
  const order = (a, b) => {
    const x = key(a), y = key(b);
    if (typeof x !== typeof y) { return typeof x === "number" ? -1 : 1; }
    return typeof x === "number" ? x - y : x.localeCompare(y, "en", {numeric: true});
  };
  const rows = Array.from(body.rows).sort((a, b) => up ? order(a, b) : order(b, a));
  for (const row of rows) { body.append(row); }
});
// Shows `width` of a timeline from `begin` on, and the same of the timelines beside it.
const show = (from, begin, width) => {
  const whole = Number(from.dataset.width);
  width = Math.min(whole, Math.max(8, width));
  begin = Math.round(Math.min(whole - width, Math.max(0, begin)));
  const beside = from.closest(".timelines");
  for (const view of beside ? beside.querySelectorAll(".view") : [from]) {
    const height = view.getAttribute("viewBox").split(" ")[3];
    view.setAttribute("viewBox", [begin, 0, width, height].join(" "));
    const ticks = view.closest("svg.chart").querySelectorAll('text.tick[text-anchor="middle"]');
    const plain = (value, digits) => String(Number(value.toPrecision(digits)));
    const distance = ns => "+" + (ns >= 1e6 ? plain(ns / 1e6, 3) + "ms"
        : ns >= 1e3 ? plain(ns / 1e3, 3) + "us" : plain(ns, 3) + "ns");
    ticks.forEach((tick, i) => {
      tick.dataset.whole ??= tick.textContent;
      const place = parseFloat(tick.getAttribute("x")) / 100;
      tick.textContent = width === whole ? tick.dataset.whole
          : i === 0 ? plain(begin * Number(view.dataset.factor), 6)
          : distance(place * width);
      // A distance is longer than a time, and ends at the chart's edge.
      tick.style.textAnchor = place > 0.9 ? (width === whole ? "" : "end") : "";
    });
  }
};
const shown = view => view.getAttribute("viewBox").split(" ").map(Number);
document.addEventListener("click", function (event) {
  const button = event.target.closest("[data-zoom]");
  if (!button) { return; }
  const view = button.closest("figure").querySelector(".view"), way = button.dataset.zoom;
  const [begin, , width] = shown(view), middle = begin + width / 2;
  const now = way === "all" ? Number(view.dataset.width)
      : Math.max(8, width * (way === "in" ? 0.5 : way === "out" ? 2 : 1));
  show(view, middle - now / 2 + (way === "left" ? -now / 2 : way === "right" ? now / 2 : 0), now);
});
for (const view of document.querySelectorAll("svg.view")) {
  const place = event => (event.clientX - box().left) / box().width;
  const box = () => view.parentNode.getBoundingClientRect();
  view.addEventListener("wheel", event => {
    const [begin, , width] = shown(view), now = width * Math.pow(1.002, event.deltaY);
    if (Math.min(now, width) >= Number(view.dataset.width)) { return; }
    event.preventDefault();
    show(view, begin + place(event) * (width - now), now);
  }, {passive: false});
  let held = null;
  view.addEventListener("pointerdown", event => {
    held = {x: event.clientX, begin: shown(view)[0]};
    view.setPointerCapture(event.pointerId);
  });
  view.addEventListener("pointermove", event => {
    if (!held) { return; }
    const width = shown(view)[2];
    show(view, held.begin - (event.clientX - held.x) / box().width * width, width);
  });
  for (const each of ["pointerup", "pointercancel"]) {
    view.addEventListener(each, () => { held = null; });
  }
}
)";

}  // namespace assay::report
