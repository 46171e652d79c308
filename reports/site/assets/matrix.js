// Filters of the matrix, with the whole filter in the URL: index.html#?verdict=violated&on=4.3.1, ?diff=3.9.2..4.3.1.
// The page is whole without it.
(() => {
  "use strict";
  const BROKEN = ["violated", "flaky"];
  const form = document.getElementById("filters");
  const table = document.querySelector("table.matrix");
  const compared = document.getElementById("compared");
  const fields = ["text", "family", "verdict", "on", "level", "priority", "old", "new", "differs"].filter((name) => form.elements[name]);
  const boxes = [...form.querySelectorAll("input[name=column]")];
  const columns = [...form.elements.on.options].slice(1).map((option) => option.value);
  const rows = [...table.querySelectorAll("tr.row")].map((row) => ({
    row,
    family: row.parentNode.querySelector("tr.family").dataset.family,
    words: row.cells[0].textContent.toLowerCase(),
    verdicts: [...row.cells].slice(1).map((cell) => cell.className),
  }));
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [sheet];

  // What the form asks for. Empty fields are left out, and so are all columns at once.
  const asked = () => {
    const filter = new URLSearchParams();
    for (const name of fields) {
      const field = form.elements[name];
      const value = field.type === "checkbox" ? (field.checked ? "1" : "") : field.value.trim();
      if (value && name !== "old" && name !== "new") filter.set(name, value);
    }
    const pair = form.elements.old ? [form.elements.old.value, form.elements.new.value] : ["", ""];
    if (pair[0] && pair[1]) filter.set("diff", pair.join(".."));
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    if (chosen.length < boxes.length) for (const label of chosen) filter.append("column", label);
    return filter;
  };

  const pairOf = (text) => {
    const old = columns.find((label) => text.startsWith(`${label}..`) && columns.includes(text.slice(label.length + 2)));
    return old === undefined ? ["", ""] : [old, text.slice(old.length + 2)];
  };

  const fill = (filter) => {
    const pair = pairOf(filter.get("diff") || "");
    const given = { old: pair[0], new: pair[1] };
    for (const name of fields) {
      const field = form.elements[name];
      const value = given[name] ?? filter.get(name) ?? "";
      if (field.type === "checkbox") field.checked = value === "1"; else field.value = value;
      if (field.tagName === "SELECT" && field.selectedIndex < 0) field.value = "";
    }
    const chosen = filter.getAll("column").filter((label) => columns.includes(label));
    for (const box of boxes) box.checked = !chosen.length || chosen.includes(box.value);
  };

  const changeOf = (before, after) => {
    if (before === after) return "";
    if (BROKEN.includes(after) && !BROKEN.includes(before)) return "broke";
    return BROKEN.includes(before) && after === "satisfied" ? "mended" : "changed";
  };

  const matches = (entry, filter, places, pair) => {
    const shown = places.map((place) => entry.verdicts[place]);
    const on = filter.get("on");
    const seen = on ? [entry.verdicts[columns.indexOf(on)]] : shown;
    return (!filter.get("verdict") || seen.includes(filter.get("verdict")))
      && (!filter.get("family") || entry.family === filter.get("family"))
      && (!filter.get("level") || entry.row.dataset.level === filter.get("level"))
      && (!filter.get("priority") || entry.row.dataset.priority === filter.get("priority"))
      && (!(filter.get("differs") || pair[0]) || new Set(shown).size > 1)
      && (filter.get("text") || "").toLowerCase().split(/\s+/).every((word) => entry.words.includes(word));
  };

  const summarise = (pair, shown) => {
    compared.hidden = !pair[0];
    if (!pair[0]) return;
    const count = (kind) => shown.filter((entry) => entry.row.dataset.change === kind).length;
    const strong = document.createElement("strong");
    strong.textContent = `${pair[0]} → ${pair[1]}: `;
    compared.replaceChildren(strong, `${count("broke")} broke, ${count("mended")} mended, ${count("changed")} changed otherwise`);
  };

  const apply = () => {
    const filter = asked();
    const pair = pairOf(filter.get("diff") || "");
    const chosen = pair[0] ? pair : filter.getAll("column");
    const places = columns.map((_, place) => place).filter((place) => !chosen.length || chosen.includes(columns[place]));
    const shown = [];
    for (const entry of rows) {
      const change = pair[0] ? changeOf(...pair.map((label) => entry.verdicts[columns.indexOf(label)])) : "";
      if (change) entry.row.dataset.change = change; else delete entry.row.dataset.change;
      entry.row.hidden = !matches(entry, filter, places, pair);
      if (!entry.row.hidden) shown.push(entry);
    }
    for (const body of table.tBodies) body.hidden = !body.querySelector("tr.row:not([hidden])");
    const away = columns.map((_, place) => place).filter((place) => !places.includes(place));
    sheet.replaceSync(away.map((place) => `.matrix tr > :nth-child(${place + 2}) { display: none; }`).join("\n"));
    table.classList.toggle("worded", places.length <= 6);
    form.querySelector("output").textContent = `${shown.length} of ${rows.length} rows`;
    summarise(pair, shown);
    rove();
    return filter;
  };

  // Typing replaces the entry in the browser's history, a choice adds one.
  const remember = (event) => {
    const query = apply().toString();
    const target = query ? `#?${query}` : "#matrix";
    if (location.hash === target) return;
    history[event.target.type === "search" ? "replaceState" : "pushState"](null, "", target);
  };

  const recall = () => {
    const hash = location.hash;
    if (hash.startsWith("#?")) {
      fill(new URLSearchParams(hash.slice(2)));
    } else {
      const target = document.getElementById(decodeURIComponent(hash.slice(1)));
      const isHidden = target && (target.hidden || target.closest("[hidden]"));
      if (hash && !isHidden && hash !== "#matrix") return;
      fill(new URLSearchParams(hash ? "" : location.search));
      if (isHidden) setTimeout(() => target.scrollIntoView());
    }
    const filter = apply();
    if (hash.startsWith("#?") || (!hash && filter.size)) document.getElementById("matrix").scrollIntoView();
  };

  // Of the cells one takes part in tabbing; arrows go on from there. Rows' names are always reached by tabbing.
  let current = null;
  const rove = (link) => {
    const next = link || (current && current.offsetParent ? current : table.querySelector("tr.row:not([hidden]) td a"));
    if (current) current.tabIndex = -1;
    current = next;
    if (current) current.tabIndex = 0;
  };
  const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("tr.row > *");
    const [down, right] = ARROWS[event.key] || [0, 0];
    if (!cell || (!down && !right) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    let next = cell;
    if (right) do next = right > 0 ? next.nextElementSibling : next.previousElementSibling; while (next && !next.offsetParent);
    if (down) {
      const shown = [...table.querySelectorAll("tr.row:not([hidden])")];
      const row = shown[shown.indexOf(cell.parentNode) + down];
      next = row && row.cells[cell.cellIndex];
    }
    const link = next && next.querySelector("a");
    if (link) link.focus();
  });
  table.addEventListener("focusin", (event) => { if (event.target.matches("td a")) rove(event.target); });

  for (const link of table.querySelectorAll("td a")) link.tabIndex = -1;
  for (const item of document.querySelectorAll("[data-filter]")) {
    const link = document.createElement("a");
    link.href = `#?${item.dataset.filter}`;
    link.append(...item.childNodes);
    item.append(link);
  }
  form.hidden = false;
  form.addEventListener("input", remember);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => setTimeout(() => remember(event)));
  addEventListener("hashchange", recall);
  addEventListener("popstate", recall);
  apply();
  recall();
})();
