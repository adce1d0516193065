(() => {
  const { groups, pieces } = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const list = by("groups");
  const PAGE = 12; // groups drawn at a time
  const LONG = 900; // characters of a response that is folded
  const LEAST = 400; // hundredths of a nat from which the shade is full
  const END = "∎"; // stands for a token without text

  // Everything is set as text, never as markup: it comes from outside.
  const element = (tag, css, text, parent) => {
    const made = document.createElement(tag);
    if (css) made.className = css;
    if (text !== undefined) made.textContent = text;
    parent?.append(made);
    return made;
  };
  const textOf = (sample) =>
    (sample.text ??= sample.pieces
      .slice(0, sample.spelt)
      .map((i) => pieces[i])
      .join(""));
  const signed = (x) => (x ? `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}` : "0");
  const mean = (values) => values.reduce((a, b) => a + b, 0) / (values.length || 1);
  const words = { all_fail: "all fail", mixed: "mixed", all_correct: "all correct" };

  // What is asked for ------------------------------------------------------------
  const asked = { outcome: "", ending: "", shade: "" };
  const value = (id) => by(id).value;
  const ended = {
    cut: (sample) => sample.cut,
    unparsed: (sample) => sample.status !== "answered",
  };
  const fits = (group, sample, sought) =>
    (!asked.ending || ended[asked.ending](sample)) &&
    (!sought ||
      textOf(sample).toLowerCase().includes(sought) ||
      `${group.problem} ${group.prompt}`.toLowerCase().includes(sought));

  const most = (group, of) => Math.max(...group.samples.map(of));
  const least = (group, of) => Math.min(...group.samples.map(of));
  const ORDERS = {
    newest: (a, b) => b.step - a.step,
    oldest: (a, b) => a.step - b.step,
    longest: (a, b) => most(b, (s) => s.tokens) - most(a, (s) => s.tokens),
    shortest: (a, b) => least(a, (s) => s.tokens) - least(b, (s) => s.tokens),
    reward: (a, b) => mean(b.samples.map((s) => s.reward)) - mean(a.samples.map((s) => s.reward)),
    unlikely: (a, b) => least(a, (s) => mean(s.logps)) - least(b, (s) => mean(s.logps)),
  };

  let found = []; // groups with the samples that fit
  let drawn = 0;
  let here = -1;

  const choose = () => {
    const [run, step, env] = ["run", "step", "env"].map(value);
    const sought = value("search").trim().toLowerCase();
    found = groups
      .filter(
        (group) =>
          (!run || group.run === run) &&
          (!step || group.step === Number(step)) &&
          (!env || group.env === env) &&
          (!asked.outcome || group.outcome === asked.outcome),
      )
      .map((group) => ({ group, kept: group.samples.filter((s) => fits(group, s, sought)) }))
      .filter((one) => one.kept.length)
      .sort((a, b) => ORDERS[value("order")](a.group, b.group));
    const samples = found.reduce((sum, one) => sum + one.kept.length, 0);
    const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
    by("count").textContent = `${count(found.length, "group")}, ${count(samples, "sample")}`;
    for (const column of document.querySelectorAll(".column"))
      column.classList.toggle(
        "here",
        column.dataset.step === step && (!run || column.dataset.run === run),
      );
    list.replaceChildren();
    [drawn, here] = [0, -1];
    if (!found.length)
      element("p", "nothing-found", "No sample on this page is like that.", list);
    more();
  };

  // Drawing ----------------------------------------------------------------------
  const marked = (text, sought, parent) => {
    const low = text.toLowerCase();
    // Lower case may change a text's length; its places would then be others.
    if (!sought || low.length !== text.length) return parent.append(text);
    let from = 0;
    for (let at = low.indexOf(sought); at >= 0; at = low.indexOf(sought, from)) {
      parent.append(text.slice(from, at));
      from = at + sought.length;
      element("mark", "", text.slice(at, from), parent);
    }
    parent.append(text.slice(from));
  };

  const shade = (sample, parent) => {
    sample.pieces.forEach((piece, i) => {
      const text = pieces[piece] || END;
      const logp = sample.logps[i];
      const token = element("span", pieces[piece] ? "token" : "token end", text, parent);
      token.style.setProperty("--s", Math.min(1, Math.max(0, -logp / LEAST)).toFixed(3));
      const chance = (100 * Math.exp(logp / 100)).toPrecision(3);
      const shown = pieces[piece] ? JSON.stringify(text) : "end";
      token.dataset.tip = `${shown}\nlog-probability ${(logp / 100).toFixed(2)}\n${chance} %`;
    });
  };

  const fill = (said, sample) => {
    said.replaceChildren();
    if (asked.shade) shade(sample, said);
    else marked(textOf(sample), value("search").trim().toLowerCase(), said);
  };

  const card = (sample, fitting, top, parent) => {
    const css = `sample${sample.solved ? " right" : ""}${fitting ? "" : " away"}`;
    const made = element("div", css, undefined, parent);
    element("b", "", `${sample.solved ? "✓" : "✗"} ${sample.judged}`, made);
    const bar = element("div", "scale-of", undefined, made);
    const part = element("i", sample.advantage < 0 ? "less" : "", undefined, bar);
    part.style.setProperty("--w", `${(50 * Math.abs(sample.advantage)) / top}%`);
    bar.dataset.tip = "advantage, from the middle; the longest bar is the largest of the group";
    const facts = element("p", "facts-of", undefined, made);
    element("em", "", `advantage ${signed(sample.advantage)}`, facts);
    const end = sample.cut ? "cut off" : "stopped";
    const size = `${sample.tokens.toLocaleString("en")} token${sample.tokens === 1 ? "" : "s"}`;
    facts.append(` · reward ${sample.reward} · ${size} · ${end}`);
    const long = textOf(sample).length > LONG;
    const said = element("div", long ? "said long" : "said", undefined, made);
    said.dir = "auto";
    fill(said, sample);
    if (!long) return;
    const button = element("button", "unfold", "whole text", made);
    button.type = "button";
    button.addEventListener("click", () => {
      const open = made.classList.toggle("open");
      button.textContent = open ? "fold" : "whole text";
    });
  };

  const draw = ({ group, kept }) => {
    const made = element("article", "group", undefined, list);
    made.tabIndex = -1;
    const head = element("h3", "", `${group.env}, difficulty ${group.difficulty}`, made);
    const outcome = element("span", "outcome", undefined, head);
    element("i", `block ${group.outcome}`, undefined, outcome);
    outcome.append(words[group.outcome] ?? group.outcome);
    const reward = mean(group.samples.map((s) => s.reward)).toFixed(2);
    element("span", "", `mean reward ${reward}`, head);
    element("span", "", group.trained ? "trained on" : "not trained on", head);
    element("span", "", `${group.run}, step ${group.step}`, head);
    element("span", "", group.problem, head);
    const prompt = element("p", "prompt", undefined, made);
    prompt.dir = "auto";
    marked(group.prompt, value("search").trim().toLowerCase(), prompt);
    const side = element("div", "side", undefined, made);
    const top = Math.max(1e-9, most(group, (s) => Math.abs(s.advantage)));
    const fitting = new Set(kept);
    for (const sample of group.samples) card(sample, fitting.has(sample), top, side);
  };

  const more = () => {
    for (const one of found.slice(drawn, drawn + PAGE)) draw(one);
    drawn = Math.min(found.length, drawn + PAGE);
    by("more").hidden = drawn >= found.length;
    by("more").textContent = `More: ${(found.length - drawn).toLocaleString("en")} groups left`;
  };

  // Choosing ---------------------------------------------------------------------
  const press = (kind, wanted) => {
    asked[kind] = asked[kind] === wanted ? "" : wanted;
    for (const toggle of document.querySelectorAll(`[data-kind="${kind}"]`))
      toggle.setAttribute("aria-pressed", String(toggle.dataset.value === asked[kind]));
    if (kind !== "shade") return choose();
    document.body.classList.toggle("shaded", Boolean(asked.shade));
    [...list.querySelectorAll(".group")].forEach((made, g) =>
      [...made.querySelectorAll(".said")].forEach((said, s) =>
        fill(said, found[g].group.samples[s]),
      ),
    );
  };
  for (const toggle of document.querySelectorAll(".toggle"))
    toggle.addEventListener("click", () => press(toggle.dataset.kind, toggle.dataset.value));
  for (const id of ["run", "step", "env", "order"]) by(id).addEventListener("change", choose);
  let waiting;
  by("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(choose, 150);
  });
  by("more").addEventListener("click", more);
  new IntersectionObserver((seen) => {
    if (seen[0].isIntersecting && drawn < found.length) more();
  }, { rootMargin: "600px" }).observe(by("more"));

  const turn = (by_) => {
    const step = by("step");
    const at = step.selectedIndex + by_;
    // Before the first step stand all steps; from there, back is to the last.
    step.selectedIndex = at < 0 ? step.options.length - 1 : Math.min(at, step.options.length - 1);
    choose();
  };
  by("earlier").addEventListener("click", () => turn(-1));
  by("later").addEventListener("click", () => turn(1));
  for (const column of document.querySelectorAll(".column"))
    column.addEventListener("click", () => {
      const has = [...by("step").options].some((o) => o.value === column.dataset.step);
      if (!has) return;
      by("step").value = column.dataset.step;
      if ([...by("run").options].some((o) => o.value === column.dataset.run))
        by("run").value = column.dataset.run;
      choose();
      by("samples").scrollIntoView();
    });

  const clear = () => {
    for (const id of ["run", "step", "env", "search"]) by(id).value = "";
    for (const kind of ["outcome", "ending"]) if (asked[kind]) press(kind, asked[kind]);
    choose();
  };

  // Keys -------------------------------------------------------------------------
  const go = (by_) => {
    const to = Math.max(0, here + by_);
    if (to >= drawn) more();
    const shown = list.querySelectorAll(".group");
    if (!shown[to]) return;
    shown[here]?.classList.remove("here");
    here = to;
    shown[here].classList.add("here");
    shown[here].focus({ preventScroll: true });
    shown[here].scrollIntoView({ block: "start" });
  };
  const open = () => {
    const shown = list.querySelectorAll(".group")[Math.max(0, here)];
    for (const button of shown?.querySelectorAll(".unfold") ?? []) button.click();
  };
  const KEYS = {
    j: () => go(1),
    k: () => go(-1),
    "[": () => turn(-1),
    "]": () => turn(1),
    "/": () => by("search").focus(),
    s: () => press("shade", "on"),
    o: open,
    Escape: clear,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input, select");
    if (typing && event.key !== "Escape") return;
    if (!KEYS[event.key]) return;
    event.preventDefault();
    typing?.blur();
    KEYS[event.key]();
  });

  choose();
})();
