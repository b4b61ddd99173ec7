// A part of a page, renewed while it is looked at: the queue, and runs on live traffic. What has the focus keeps it, and what is open stays.

const PERIOD_MS = 3000;

export function renewed(live: HTMLElement): void {
  let shown = live.innerHTML;
  const renew = async (): Promise<void> => {
    // A question that is open, or a text that is being written, is not taken away.
    if (document.hidden || live.querySelector("details[open]")) return;
    const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = page.getElementById(live.id);
    if (!next || next.innerHTML === shown || live.querySelector("details[open]")) return;
    shown = next.innerHTML;
    const focused = live.contains(document.activeElement) ? document.activeElement?.id : undefined;
    live.replaceChildren(...next.childNodes);
    if (focused) document.getElementById(focused)?.focus();
  };
  setInterval(() => void renew(), PERIOD_MS);
  document.addEventListener("visibilitychange", () => void renew());
}
