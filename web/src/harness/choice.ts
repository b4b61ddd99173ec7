// The boxes of the archive: runs are compared in the order in which they were chosen.

export function choice(form: HTMLElement): void {
  const chosen = form.querySelector<HTMLInputElement>("#chosen");
  if (!chosen) return;
  form.addEventListener("change", (event) => {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || !box.classList.contains("pick")) return;
    const ids = chosen.value.split(/[\s,]+/).filter((id) => id !== "" && id !== box.value);
    if (box.checked) ids.push(box.value);
    chosen.value = ids.join(" ");
  });
}
