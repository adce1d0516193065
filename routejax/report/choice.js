(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const place = Object.fromEntries(data.fields.map((name, i) => [name, i]));
  const tip = document.getElementById("tip");
  const card = document.getElementById("card");
  const NEAR = 14; // pixels from a dot that still mean it

  // The dot of a map that is nearest to the pointer, if one is near.
  const nearest = (map, event) => {
    const box = map.getBoundingClientRect();
    const scale = box.width / map.viewBox.baseVal.width;
    const rows = data.selectors[map.dataset.selector].rows;
    let found = null;
    let best = NEAR ** 2;
    for (const row of rows) {
      const dx = box.left + row[place.x] * scale - event.clientX;
      const dy = box.top + row[place.y] * scale - event.clientY;
      const gap = dx * dx + dy * dy;
      if (gap < best) [best, found] = [gap, row];
    }
    return found;
  };

  const mark = (map, row) => {
    const ring = map.querySelector(".here");
    ring.setAttribute("visibility", row ? "visible" : "hidden");
    if (!row) return;
    ring.setAttribute("cx", row[place.x]);
    ring.setAttribute("cy", row[place.y]);
  };

  const short = (id) => (id.length > 60 ? `${id.slice(0, 30)}…${id.slice(-29)}` : id);

  const element = (tag, text, parent) => {
    const made = document.createElement(tag);
    made.textContent = text;
    parent.append(made);
    return made;
  };

  const quoted = (id) =>
    /^[\w.:@%+=,/-]+$/.test(id) ? id : `'${id.replaceAll("'", `'"'"'`)}'`;

  // Everything is set as text, never as markup: ids come from outside.
  const explain = (selector, row) => {
    const value = (name) => row[place[name]];
    card.replaceChildren();
    card.className = selector.css;
    element("h4", `${value("id")}, chosen by ${selector.name}`, card);
    const facts = element("dl", "", card);
    const fact = (name, text) => {
      element("dt", name, facts);
      return element("dd", text, facts);
    };
    const source = value("source") || "unknown";
    const size = value("characters").toLocaleString("en");
    fact("Group", value("group"));
    fact("Source", `${source}, ${size} characters`);
    if (value("cluster") !== null) {
      const rows = value("cluster_rows");
      const held = rows === null ? "" : `: ${value("cluster_chosen")} of its ${rows} rows chosen`;
      fact("Cluster", `${value("cluster")}${held}`);
    }
    const inside = value("cluster") === null ? "group" : "cluster";
    fact("Pick", `number ${value("rank") + 1} of its ${inside}`);
    if (value("distance") !== null)
      fact("Distance", `${value("distance").toFixed(4)} to ${selector.measured ?? "what it was picked by"}`);
    if (value("near") !== null)
      fact("Nearest other", `${value("near")}, at ${value("near_distance").toFixed(4)}`);
    if (value("route")) {
      const link = element("a", "drawn steps", fact("Route", ""));
      link.href = value("route");
    } else if (data.grammar) {
      element("pre", data.commands.route + quoted(value("id")), fact("Route", ""));
    }
  };

  for (const map of document.querySelectorAll(".map")) {
    const selector = data.selectors[map.dataset.selector];
    map.addEventListener("pointermove", (event) => {
      const row = nearest(map, event);
      mark(map, row);
      tip.classList.toggle("on", Boolean(row));
      if (!row) return;
      tip.textContent = `${short(row[place.id])}\n${row[place.group]}`;
      const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
      const above = event.clientY - tip.offsetHeight - 12;
      tip.style.left = `${Math.max(8, x)}px`;
      tip.style.top = `${above > 8 ? above : event.clientY + 16}px`;
      event.stopPropagation(); // the page's own tip would hide it
    });
    map.addEventListener("pointerleave", () => tip.classList.remove("on"));
    map.addEventListener("click", (event) => {
      const row = nearest(map, event);
      mark(map, row);
      if (row) explain(selector, row);
    });
  }
})();
