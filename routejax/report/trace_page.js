(() => {
  const texts = document.getElementById("texts");
  if (!texts) return;
  const drawn = document.getElementById("drawn");
  const tree = document.getElementById("tree");
  const band = document.getElementById("row");
  const strip = document.getElementById("strip");
  const overview = document.getElementById("overview");
  const items = [...texts.querySelectorAll("li")];
  const nodes = [...tree.querySelectorAll(".node")];
  const edges = nodes.map((_, i) => document.getElementById(`e${i + 1}`));
  const row = Number(tree.dataset.row);
  const first = Number(tree.dataset.top); // of the first row, inside the drawing
  const over = drawn.querySelector(".over").offsetHeight; // the pane's heading
  const top = over + first;
  const count = items.length;
  const inside = (i) => Math.min(count - 1, Math.max(0, i));

  // Row of the tree ↔ item of the list. Every step has a row, so a height is a step.
  const rowAt = (y) => inside(Math.round((y - first) / row));
  const middle = (i) => items[i].offsetTop + items[i].offsetHeight / 2;
  const itemAt = (y) => {
    let [low, high] = [0, count - 1];
    while (low < high) {
      const half = (low + high + 1) >> 1;
      if (items[half].offsetTop <= y) low = half;
      else high = half - 1;
    }
    return low;
  };
  const reach = (pane, y, how) =>
    pane.scrollTo({ top: y - pane.clientHeight / 2, behavior: how ?? "auto" });

  // Pointing at one lights the other.
  let lit = -1;
  const light = (i) => {
    if (i === lit) return;
    items[lit]?.classList.remove("lit");
    lit = i;
    items[lit]?.classList.add("lit");
    band.classList.toggle("on", lit >= 0 || kept >= 0);
    const at = lit >= 0 ? lit : kept;
    if (at >= 0) band.setAttribute("y", first + row * (at - 0.5));
  };

  // A click keeps a step, and shows its way from the root.
  let kept = -1;
  const keep = (i) => {
    for (const part of [...items, ...nodes]) part.classList.remove("kept");
    for (const part of tree.querySelectorAll(".up")) part.classList.remove("up");
    kept = i;
    tree.classList.toggle("upward", kept >= 0);
    if (kept >= 0) {
      items[kept].classList.add("kept");
      nodes[kept].classList.add("kept");
      for (let at = kept; at >= 0; at = Number(nodes[at].dataset.up) - 1) {
        nodes[at].classList.add("up");
        edges[at]?.classList.add("up");
      }
    }
    lit = -2;
    light(-1);
  };
  const go = (i) => {
    keep(i);
    reach(texts, middle(i));
    reach(drawn, top + row * i);
  };

  const itemOf = (event) => items.indexOf(event.target.closest?.("li"));
  texts.addEventListener("pointerover", (event) => light(itemOf(event)));
  texts.addEventListener("pointerleave", () => light(-1));
  texts.addEventListener("click", (event) => {
    const i = itemOf(event);
    if (event.target.closest("a")) event.preventDefault();
    if (i < 0 || String(getSelection())) return;
    keep(i === kept ? -1 : i);
    if (kept >= 0) reach(drawn, top + row * i, "smooth");
  });
  texts.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (event.key === "Escape") keep(-1);
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(inside(kept < 0 ? itemAt(texts.scrollTop) : kept + by));
  });

  const rowOf = (event) => rowAt(event.clientY - tree.getBoundingClientRect().top);
  const tell = (i) => {
    const [name, why] = items[i].querySelectorAll(".head > *");
    const text = items[i].querySelector("p").textContent;
    const depth = `depth ${nodes[i].dataset.depth}`;
    const start = text.length > 160 ? `${text.slice(0, 160)}…` : text;
    return `${i + 1}  ${name.textContent}, ${depth}\n${why.textContent}\n${start}`;
  };
  tree.addEventListener("pointermove", (event) => {
    light(rowOf(event));
    tree.dataset.tip = tell(lit);
  });
  tree.addEventListener("pointerleave", () => light(-1));
  tree.addEventListener("click", (event) => {
    event.preventDefault();
    const i = rowOf(event);
    keep(i === kept ? -1 : i);
    if (kept >= 0) reach(texts, middle(i), "smooth");
  });

  // The pane under the pointer leads, the other follows to the same step.
  let leader = texts;
  for (const pane of [texts, drawn])
    for (const kind of ["pointerenter", "focusin", "touchstart"])
      pane.addEventListener(kind, () => (leader = pane), { passive: true });
  const follow = (pane) => {
    if (pane === leader && kept < 0) {
      const most = pane.scrollHeight - pane.clientHeight;
      const share = most > 0 ? pane.scrollTop / most : 0;
      const y = pane.scrollTop + share * pane.clientHeight;
      const other = pane === texts ? drawn : texts;
      const to =
        pane === texts ? top + row * itemAt(y) : items[rowAt(y)].offsetTop;
      other.scrollTop = to - share * other.clientHeight;
    }
    mark();
  };
  texts.addEventListener("scroll", () => follow(texts), { passive: true });
  drawn.addEventListener("scroll", () => follow(drawn), { passive: true });

  // Which part of the whole is in sight, and going elsewhere in it.
  const mark = () => {
    const fits = drawn.scrollHeight <= drawn.clientHeight + 1;
    overview.classList.toggle("idle", fits);
    const pane = overview.querySelector(".window");
    pane.classList.toggle("on", !fits);
    pane.style.top = `${(100 * drawn.scrollTop) / drawn.scrollHeight}%`;
    pane.style.height = `${(100 * drawn.clientHeight) / drawn.scrollHeight}%`;
    const part = strip.querySelector(".window");
    const [from, to] = [texts.scrollTop, texts.scrollTop + texts.clientHeight];
    part.classList.toggle("on", texts.scrollHeight > texts.clientHeight + 1);
    const [start, end] = [itemAt(from), itemAt(to) + 1];
    part.style.left = `${(100 * start) / count}%`;
    part.style.width = `${(100 * (end - start)) / count}%`;
  };
  const drag = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = overview.getBoundingClientRect();
    leader = drawn;
    const share = (event.clientY - box.top) / box.height;
    reach(drawn, share * drawn.scrollHeight);
  };
  for (const kind of ["pointerdown", "pointermove"])
    overview.addEventListener(kind, drag);
  strip.addEventListener("click", (event) => {
    const box = strip.getBoundingClientRect();
    go(inside(Math.floor((count * (event.clientX - box.left)) / box.width)));
  });
  addEventListener("resize", mark);

  // A type pointed at, or kept by a click, comes forward everywhere.
  const rule = document.head.appendChild(document.createElement("style"));
  let pressed = null;
  const forward = (key) => {
    const type = (key ?? pressed)?.dataset.type;
    rule.textContent =
      type === undefined
        ? ""
        : `.walked li:not(.t${type}), .node:not(.t${type}) { opacity: 0.22; }`;
  };
  for (const key of document.querySelectorAll(".type")) {
    for (const kind of ["pointerenter", "focus"])
      key.addEventListener(kind, () => forward(key));
    for (const kind of ["pointerleave", "blur"])
      key.addEventListener(kind, () => forward(null));
    key.addEventListener("click", () => {
      pressed?.setAttribute("aria-pressed", "false");
      pressed = pressed === key ? null : key;
      pressed?.setAttribute("aria-pressed", "true");
      forward(null);
    });
  }

  const named = () => {
    const found = /^#[sn](\d+)$/.exec(location.hash);
    if (found && found[1] >= 1 && found[1] <= count) go(found[1] - 1);
  };
  addEventListener("hashchange", named);
  named();
  mark();
})();
