// The progress of an entry. HTTP/1.1 has six connections for each server, so the tabs of one entry share one stream: the tab that has
// the lock reads it and tells the others. When it is closed, the next tab goes on from the last line that it has. A tab that nobody
// sees reads no stream: eight tabs of eight entries would take all connections.

/** What a page gets. */
export interface Listener {
  /** Forget what came before. */
  reset: () => void;
  /** A line of the run's progress, as it came. */
  line: (data: string) => void;
  /** The entry. */
  state: (data: string) => void;
  /** Whether news arrive. */
  connected: (now: boolean) => void;
  /** Nothing more comes. */
  end: () => void;
}

type Message = { kind: "reset" | "line" | "state" | "end"; id?: string; data?: string };
type Note = { to?: string; ask?: string; messages?: Message[] };

/** A stream without any event for so long is dead: after a sleep, nothing says so. The server pings every 15 s. */
const SILENCE_MS = 40_000;

/** Whether a line comes after another: `TOKEN-SEQ`. */
export function isAfter(id: string, last: string): boolean {
  if (last === "") return true;
  const [token = 0, seq = 0] = id.split("-").map(Number);
  const [lastToken = 0, lastSeq = 0] = last.split("-").map(Number);
  return token > lastToken || (token === lastToken && seq > lastSeq);
}

export function follow(entry: string, listener: Listener): void {
  const name = `showdown-entry-${entry}`;
  const own = crypto.randomUUID();
  const channel = new BroadcastChannel(name);
  let history: Message[] = [];
  let last = "";
  let isOver = false;

  const take = (message: Message): void => {
    switch (message.kind) {
      case "reset":
        history = [];
        last = "";
        listener.reset();
        break;
      case "line":
        if (!message.id || !isAfter(message.id, last)) return;
        last = message.id;
        listener.line(message.data ?? "");
        break;
      case "state":
        listener.state(message.data ?? "");
        break;
      case "end":
        isOver = true;
        listener.end();
        break;
    }
    history.push(message);
  };

  let isLeader = false;
  channel.onmessage = ({ data }: MessageEvent<Note>) => {
    if (data.ask && isLeader) channel.postMessage({ to: data.ask, messages: [{ kind: "reset" }, ...history] } satisfies Note);
    if (isLeader || (data.to && data.to !== own)) return;
    listener.connected(true);
    for (const message of data.messages ?? []) take(message);
  };
  channel.postMessage({ ask: own } satisfies Note);

  whileVisible((hidden) => {
    void navigator.locks
      .request(name, { signal: hidden }, () => {
        isLeader = true;
        return new Promise<void>((done) => {
          if (isOver || hidden.aborted) return done();
          hidden.addEventListener("abort", () => done());
          read(entry, () => last, (message) => {
            take(message);
            channel.postMessage({ messages: [message] } satisfies Note);
            if (message.kind === "end") done();
          }, listener.connected, hidden);
        });
      })
      // A tab that is hidden while it waits for the lock wants it no more.
      .catch(() => undefined)
      .finally(() => {
        isLeader = false;
      });
  });
}

/** Begins each time that the page becomes visible, with a signal that it is not any more. */
export function whileVisible(begin: (hidden: AbortSignal) => void): void {
  let visible: AbortController | null = null;
  const look = (): void => {
    if (document.hidden) {
      visible?.abort();
      visible = null;
    } else if (!visible) {
      visible = new AbortController();
      begin(visible.signal);
    }
  };
  document.addEventListener("visibilitychange", look);
  look();
}

/** Reads the stream until its end or until the page is hidden, and opens it again when it is silent. */
function read(entry: string, last: () => string, tell: (message: Message) => void, connected: (now: boolean) => void, hidden: AbortSignal): void {
  let source: EventSource;
  let heard = Date.now();
  let isOver = false;
  const open = (): void => {
    heard = Date.now();
    const from = last();
    source = new EventSource(`/api/v1/entries/${entry}/events${from === "" ? "" : `?last=${from}`}`);
    source.onopen = () => connected(true);
    source.onerror = () => connected(false);
    for (const kind of ["reset", "line", "state", "end", "ping"] as const) {
      source.addEventListener(kind, ({ data, lastEventId }) => {
        heard = Date.now();
        connected(true);
        if (kind === "ping") return;
        if (kind === "end") {
          isOver = true;
          source.close();
        }
        tell(kind === "line" ? { kind, id: lastEventId, data } : { kind, data });
      });
    }
  };
  const look = (): void => {
    if (isOver || Date.now() - heard < SILENCE_MS) return;
    connected(false);
    source.close();
    open();
  };
  open();
  const timer = setInterval(look, 5000);
  addEventListener(
    "online",
    () => {
      if (isOver) return;
      source.close();
      open();
    },
    { signal: hidden },
  );
  hidden.addEventListener("abort", () => {
    clearInterval(timer);
    source.close();
  });
}
