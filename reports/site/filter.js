// Filtering, with the filter in the URL: #?verdict=violated&column=4.3.1. The page is whole without it.
(() => {
  "use strict";
  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll("tr.row")];
  const details = new Map([...document.querySelectorAll("article.detail")].map((node) => [node.dataset.row, node]));
  const columns = [...form.elements.column.options].slice(1).map((option) => option.value);
  const fields = ["text", "verdict", "column", "level", "differs"].filter((name) => form.elements[name]);

  const asked = () => {
    const filter = {};
    for (const name of fields) {
      const field = form.elements[name];
      const value = field.type === "checkbox" ? (field.checked ? "1" : "") : field.value.trim();
      if (value) filter[name] = value;
    }
    return filter;
  };

  const matches = (row, filter) => {
    const verdicts = row.dataset.verdicts.split(" ");
    const seen = filter.column ? [verdicts[columns.indexOf(filter.column)]] : verdicts;
    return (!filter.verdict || seen.includes(filter.verdict))
      && (!filter.level || row.dataset.level === filter.level)
      && (!filter.differs || row.dataset.differs)
      && (filter.text || "").toLowerCase().split(/\s+/).every((word) => row.cells[0].textContent.toLowerCase().includes(word));
  };

  const apply = () => {
    const filter = asked();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !matches(row, filter);
      details.get(row.dataset.row).hidden = row.hidden;
      shown += row.hidden ? 0 : 1;
    }
    for (const body of document.querySelectorAll("table.matrix tbody")) {
      body.hidden = !body.querySelector("tr.row:not([hidden])");
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} rows`;
    return filter;
  };

  const remember = () => {
    const query = new URLSearchParams(apply()).toString();
    history.replaceState(null, "", query ? `#?${query}` : location.pathname + location.search);
  };

  const recall = () => {
    if (!location.hash.startsWith("#?")) {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (target && target.hidden) { form.reset(); apply(); target.scrollIntoView(); }
      return false;
    }
    const filter = new URLSearchParams(location.hash.slice(2));
    for (const name of fields) {
      const field = form.elements[name];
      if (field.type === "checkbox") field.checked = filter.get(name) === "1"; else field.value = filter.get(name) || "";
    }
    apply();
    return true;
  };

  for (const item of document.querySelectorAll("li[data-verdict]")) {
    const link = document.createElement("a");
    link.href = `#?${new URLSearchParams({ verdict: item.dataset.verdict, column: item.dataset.column })}`;
    link.append(...item.childNodes);
    item.append(link);
  }
  form.hidden = false;
  form.addEventListener("input", remember);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(remember));
  addEventListener("hashchange", () => { if (recall()) document.getElementById("matrix").scrollIntoView(); });
  apply();
  if (recall()) document.getElementById("matrix").scrollIntoView();
})();
