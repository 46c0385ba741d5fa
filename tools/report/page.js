// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Zoom and exact values for charts that are there without it. Texts of the trace get into the page as text alone.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const MOST_COLUMNS = 600, HEIGHT = 1000, LEAST_BINS = 4;
  const unpack = (packed) => packed.flatMap((v) => (Array.isArray(v) ? Array(v[1]).fill(v[0]) : [v]));

  const digits = (number, n) => String(Math.abs(number) >= 10 ** n ? Math.round(number) : Number(number.toPrecision(n)));
  const inUnits = (amount, units, n) => {
    const [size, name] = units.find(([least]) => amount >= least) || units[units.length - 1];
    return digits(amount / size, n) + " " + name;
  };
  const BYTES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "bytes"]];
  const RATES = [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]];
  const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const human = {
    bytes: (v) => inUnits(v, BYTES, 4),
    rate: (v) => inUnits(v, RATES, 4),
    threads: (v) => digits(v, 3),
  };
  // With as many digits as tell it from a place `step` away.
  const place = (at, step) => {
    if (data.timed && at === 0) return "0";
    if (!data.timed) return "kernel " + Math.floor(at);
    const n = at > 0 ? Math.max(3, Math.ceil(Math.log10(at / step)) + 1) : 3;
    return inUnits(at, TIMES, Math.min(n, 15));
  };

  const charts = [...document.querySelectorAll("[data-chart]")].map((figure) => {
    const chart = data.charts[figure.dataset.chart];
    const plot = figure.querySelector(".plot");
    return {
      ...chart, plot,
      layers: chart.layers.map((layer) => ({ ...layer, values: unpack(layer.values) })),
      highest: unpack(chart.highest),
      svg: plot.querySelector("svg"),
      x: plot.querySelector(".x"),
      y: plot.querySelector(".y"),
      paths: [...plot.querySelectorAll(".areas path")].reverse(), // the lowest layer's first
      line: plot.querySelector(".highest"),
      cursor: add(plot, "div", "cursor"),
    };
  });
  const tip = add(document.body, "div", "tip");
  const selected = add(document.body, "div", "selected");
  let view = [0, data.bins]; // in bins

  function add(parent, name, kind) {
    const element = document.createElement(name);
    element.className = kind;
    element.hidden = true;
    parent.append(element);
    return element;
  }
  const group = () => Math.ceil((view[1] - view[0]) / MOST_COLUMNS);
  const columnOf = (bin) => {
    const first = view[0] + Math.floor((bin - view[0]) / group()) * group();
    return [first, Math.min(first + group(), data.bins)];
  };
  const mean = (values, [first, end]) => values.slice(first, end).reduce((a, b) => a + b, 0) / (end - first);

  function steps(values, top) {
    let path = "";
    values.forEach(([, end, value], i) => {
      const y = (HEIGHT * (1 - Math.min(1, value / top))).toFixed(1);
      path += (i ? "V" : `M${view[0]} `) + y + "H" + end;
    });
    return path;
  }
  function draw() {
    const columns = [];
    for (let first = view[0]; first < view[1]; first += group()) columns.push([first, Math.min(first + group(), view[1])]);
    for (const chart of charts) {
      const sums = columns.map((column) => [...column, 0]);
      const lines = chart.layers.map((layer) => {
        for (const sum of sums) sum[2] += mean(layer.values, sum);
        return sums.map((sum) => [...sum]);
      });
      if (!chart.highest.length) fit(chart, Math.max(0, ...sums.map((sum) => sum[2])));
      lines.forEach((line, i) => chart.paths[i].setAttribute("d", steps(line, chart.top) + `V${HEIGHT}H${view[0]}Z`));
      if (chart.highest.length) {
        const highest = columns.map(([first, end]) => [first, end, Math.max(...chart.highest.slice(first, end))]);
        chart.line.setAttribute("d", steps(highest, chart.top));
      }
      chart.svg.setAttribute("viewBox", `${view[0]} 0 ${view[1] - view[0]} ${HEIGHT}`);
      drawTicks(chart.x);
    }
    for (const button of document.querySelectorAll("[data-needs-zoom]")) button.disabled = view[1] - view[0] === data.bins;
  }
  // Means over shorter times reach higher: what has no limit is drawn as high as there is room.
  function fit(chart, most) {
    chart.top = most > 0 ? most * 1.05 : 1;
    const power = 10 ** Math.floor(Math.log10(chart.top / 5));
    const step = power * [1, 2, 5, 10].find((times) => chart.top / (power * times) <= 5);
    chart.y.replaceChildren();
    for (let tick = 0; tick * step <= chart.top; tick++) {
      const line = document.createElement("i"), label = document.createElement("b");
      line.style.bottom = (100 * tick * step) / chart.top + "%";
      label.textContent = tick === 0 ? "0" : human[chart.unit](tick * step);
      line.append(label);
      chart.y.append(line);
    }
  }
  function drawTicks(axis) {
    const begin = data.begin + view[0] * data.width, span = (view[1] - view[0]) * data.width;
    const power = 10 ** Math.floor(Math.log10(span / 6));
    let step = power * [1, 2, 5, 10].find((times) => span / (power * times) <= 6);
    if (!data.timed) step = Math.max(1, step);
    axis.replaceChildren();
    // From the begin of the view: a late time has no room for a small step.
    for (let offset = (step - (begin % step)) % step; offset <= span; offset += step) {
      const line = document.createElement("i"), label = document.createElement("b");
      line.style.left = (100 * offset) / span + "%";
      label.textContent = data.timed ? place(begin + offset, step) : digits(begin + offset, 9);
      line.append(label);
      axis.append(line);
    }
  }

  function zoomTo(first, end) {
    const length = Math.min(data.bins, Math.max(LEAST_BINS, Math.round(end - first)));
    const start = Math.round(Math.min(Math.max(0, first), data.bins - length));
    view = [start, start + length];
    hideTip();
    draw();
  }
  const zoomBy = (factor, share = 0.5) => {
    const length = view[1] - view[0], at = view[0] + share * length;
    zoomTo(at - share * length * factor, at + (1 - share) * length * factor);
  };
  const moveBy = (share) => {
    const by = share * (view[1] - view[0]);
    zoomTo(view[0] + by, view[1] + by);
  };
  const reset = () => zoomTo(0, data.bins);

  const shareOf = (chart, event) => {
    const box = chart.plot.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  function hideTip() {
    tip.hidden = true;
    for (const { cursor } of charts) cursor.hidden = true;
  }
  function showTip(chart, event) {
    const share = shareOf(chart, event);
    const bin = Math.min(data.bins - 1, Math.floor(view[0] + share * (view[1] - view[0])));
    const column = columnOf(bin);
    const [from, to] = column.map((at) => data.begin + at * data.width);
    const one = !data.timed && to - from === 1;
    const lines = [one ? place(from) : place(from, data.width) + " to " + place(to - (data.timed ? 0 : 1), data.width)];
    let sum = 0;
    for (const layer of [...chart.layers].reverse()) {
      const value = mean(layer.values, column);
      sum += value;
      lines.push(layer.name + ": " + human[chart.unit](value));
    }
    if (chart.layers.length !== 1) lines.push("together: " + human[chart.unit](sum));
    if (chart.highest.length) lines.push("highest: " + human[chart.unit](Math.max(...chart.highest.slice(...column))));
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    const width = tip.offsetWidth, x = event.clientX + 14;
    tip.style.left = Math.max(4, x + width > innerWidth ? event.clientX - width - 14 : x) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 4)) + "px";
    for (const { cursor } of charts) {
      cursor.hidden = false;
      cursor.style.left = 100 * share + "%";
    }
  }

  for (const chart of charts) {
    let from = null;
    chart.plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = shareOf(chart, event);
      chart.plot.append(selected);
      if (event.pointerType === "mouse") chart.plot.setPointerCapture(event.pointerId);
    });
    chart.plot.addEventListener("pointermove", (event) => {
      showTip(chart, event);
      if (from === null) return;
      const to = shareOf(chart, event);
      selected.hidden = false;
      selected.style.left = 100 * Math.min(from, to) + "%";
      selected.style.width = 100 * Math.abs(to - from) + "%";
    });
    chart.plot.addEventListener("pointerup", (event) => {
      const to = shareOf(chart, event), length = view[1] - view[0];
      const [least, most] = [Math.min(from ?? to, to), Math.max(from ?? to, to)];
      from = null;
      selected.hidden = true;
      if (most - least > 0.01) zoomTo(view[0] + least * length, view[0] + most * length);
    });
    chart.plot.addEventListener("pointercancel", () => ((from = null), (selected.hidden = true)));
    chart.plot.addEventListener("pointerleave", hideTip);
    chart.plot.addEventListener("dblclick", reset);
    chart.plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
      event.preventDefault();
      const by = event.deltaY || event.deltaX;
      if (event.ctrlKey) zoomBy(by > 0 ? 1.25 : 0.8, shareOf(chart, event));
      else moveBy(by > 0 ? 0.1 : -0.1);
    }, { passive: false });
  }
  const actions = { in: () => zoomBy(0.5), out: () => zoomBy(2), left: () => moveBy(-0.25), right: () => moveBy(0.25), reset };
  for (const button of document.querySelectorAll("[data-action]"))
    button.addEventListener("click", actions[button.dataset.action]);
  addEventListener("beforeprint", reset); // what is printed is all of it
  for (const bar of document.querySelectorAll(".bar")) bar.hidden = charts.length === 0;
  document.body.classList.add("live");
  draw();
})();
