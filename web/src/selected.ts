// Which trial the reader looks at; several sections show it, each may change it.

type Listener = (trial: number) => void;

let current = 0;
const listeners: Listener[] = [];

/** The number of the trial that is looked at. */
export function selected(): number {
  return current;
}

/** Looks at another trial. */
export function select(trial: number): void {
  if (trial === current) return;
  current = trial;
  for (const listener of listeners) listener(trial);
}

/** Calls back at every change. */
export function onSelect(listener: Listener): void {
  listeners.push(listener);
}
