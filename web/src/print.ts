// Before printing, what is folded is unfolded, for paper cannot be pressed; afterwards it is folded again.
// The tables beside charts stay folded: on paper the charts stand for them.

/** Makes folded parts show on paper. */
export function unfoldOnPaper(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not(.as-table):not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    opened = [];
  });
}
