/** Confetti for a moment; a text instead if the user prefers reduced motion. */
import { PartyPopper } from 'lucide-react';
import { useEffect, useState, useSyncExternalStore } from 'react';

const SHOWN_MS = 4_000;
const PIECES = 80;
let count = 0;
const listeners = new Set<() => void>();

export function celebrate(): void {
  count += 1;
  for (const listener of listeners) listener();
}

export function Celebration() {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => count,
  );
  const [seen, setSeen] = useState(now);
  useEffect(() => {
    const timer = setTimeout(() => setSeen(now), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [now]);
  if (now === seen) return null;
  return (
    <div className="celebration">
      <p role="status">
        <PartyPopper aria-hidden /> Congratulations!
      </p>
      <div className="confetti" aria-hidden key={now}>
        {Array.from({ length: PIECES }, (_, piece) => (
          <span key={piece} className={`hue-${piece % 8}`} style={placeOf(piece)} />
        ))}
      </div>
    </div>
  );
}

/** Spread evenly without randomness, by the golden ratio. */
function placeOf(piece: number) {
  const part = (piece * 0.618_034) % 1;
  return { left: `${part * 100}%`, animationDelay: `${(piece % 10) * 90}ms`, animationDuration: `${1_800 + (piece % 7) * 220}ms` };
}
