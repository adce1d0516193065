(() => {
  const root = document.documentElement;
  const dark = () =>
    root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
  });

  // Values of whatever is pointed at, kept inside the window.
  const tip = document.getElementById("tip");
  const show = (event) => {
    const target = event.target.closest?.("[data-tip]");
    tip.classList.toggle("on", Boolean(target));
    if (!target) return;
    tip.textContent = target.dataset.tip;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const above = event.clientY - tip.offsetHeight - 12;
    tip.style.left = `${Math.max(8, x)}px`;
    tip.style.top = `${above > 8 ? above : event.clientY + 16}px`;
  };
  for (const kind of ["pointermove", "pointerdown"]) addEventListener(kind, show);
  addEventListener("scroll", () => tip.classList.remove("on"), { passive: true });

  // An arm named in a legend comes forward in every figure.
  for (const chip of document.querySelectorAll("[data-arm]")) {
    for (const kind of ["pointerenter", "focus"])
      chip.addEventListener(kind, () => (root.dataset.focus = chip.dataset.arm));
    for (const kind of ["pointerleave", "blur"])
      chip.addEventListener(kind, () => delete root.dataset.focus);
  }

  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();
