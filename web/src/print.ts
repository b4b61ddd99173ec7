// Unfolds the folded parts before printing and folds them again afterwards. The tables beside charts stay folded: on paper
// the charts replace them.

/** Makes folded parts visible on paper. */
export function unfoldForPrint(): void {
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
