// Appended to a copy of a report by its test: looks at the page as a browser has laid it out, on a wide and on a narrow
// screen, and leaves what is wrong as JSON in the page.
(() => {
  const faults = [];
  let charts = 0;
  const touch = (a, b) => a.left + 0.5 < b.right && b.left + 0.5 < a.right && a.top + 0.5 < b.bottom && b.top + 0.5 < a.bottom;
  const inside = (a, b) => a.left >= b.left - 0.5 && a.right <= b.right + 0.5 && a.top >= b.top - 0.5 && a.bottom <= b.bottom + 0.5;
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  document.body.style.boxSizing = "border-box";
  for (const width of [1200, 390]) {
    document.body.style.width = document.body.style.maxWidth = width + "px";
    const fault = (what) => faults.push(width + " px: " + what);
    if (document.body.scrollWidth > document.body.clientWidth) {
      const edge = document.body.getBoundingClientRect().right;
      const wide = [...document.body.querySelectorAll("*")].filter((e) => !e.closest(".scroll, .chart") && e.getBoundingClientRect().right > edge + 1);
      fault("the page is wider than the screen: " + wide.slice(0, 3).map((e) => e.tagName + " " + e.textContent.slice(0, 40)).join("; "));
    }
    for (const svg of document.querySelectorAll("figure .chart svg")) {
      const name = svg.querySelector("title")?.textContent;
      const box = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent.trim(), text.getBoundingClientRect()]);
      charts += 1;
      if (!svg.querySelector("polygon, rect")) fault(name + ": no mark is drawn");
      if (texts.length < 3) fault(name + ": no labels");
      for (const mark of svg.querySelectorAll("polygon, rect, polyline")) {
        if (!inside(mark.getBoundingClientRect(), box)) fault(name + ": a mark leaves the chart");
      }
      texts.forEach(([text, place], index) => {
        if (!inside(place, box)) fault(name + ": “" + text + "” leaves the chart");
        // Eleven, but for what a browser loses where it scales.
        if (place.height < 10.9) fault(name + ": “" + text + "” is " + place.height + " px high");
        for (const [other, there] of texts.slice(index + 1)) {
          if (touch(place, there)) fault(name + ": “" + text + "” and “" + other + "” overlap");
        }
      });
    }
    for (const legend of document.querySelectorAll(".legend")) {
      const looks = [...legend.querySelectorAll(".swatch")].map((swatch) => swatch.outerHTML);
      if (new Set(looks).size < looks.length) fault("two variants look the same");
    }
    for (const table of document.querySelectorAll("table")) {
      if (!table.querySelector("tbody td")) fault("an empty table: " + table.caption?.textContent);
      if (!table.caption || !table.querySelector("thead th[scope=col]")) fault("a table without headings");
    }
    const texts = [...document.querySelectorAll("h1, h2, h3, h4, p, li, figcaption, table, summary")].filter((e) => !e.closest("table") || e.tagName === "TABLE");
    texts.map((e) => [e, e.getBoundingClientRect()]).reduce((before, [e, place]) => {
      if (before && !before[0].closest(".legend, .charts") && touch(before[1], place) && !before[0].contains(e)) fault("“" + e.textContent.slice(0, 40) + "” overlaps what is above it");
      return [e, place];
    }, null);
  }
  const found = document.createElement("pre");
  found.id = "look";
  found.textContent = JSON.stringify({ charts, faults });
  document.body.append(found);
})();
