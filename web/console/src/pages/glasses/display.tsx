/** The display of the glasses: its real pixels if there is room, its real number of lines, its color. */
import { useEffect, useLayoutEffect, useRef, useState, type CSSProperties } from 'react';
import type { Capabilities } from '../../api/console';
import { layoutText, type Layout } from './wire';

/** Defaults for profiles without these values. */
const USUAL = { width: 640, height: 200, lines: 5 };

interface Props {
  model: Capabilities;
  layout: Layout | null;
  /** Shown if the display is empty. */
  idle: string;
}

type DisplayOf = Capabilities & { display?: { canDisplayBitmap?: boolean | null; isColor?: boolean | null } | null };

export function GlassesDisplay({ model, layout, idle }: Props) {
  const { display } = model as DisplayOf;
  const width = display?.resolution?.width || USUAL.width;
  const height = display?.resolution?.height || USUAL.height;
  const lines = display?.maxTextLines || USUAL.lines;
  const green = display?.isColor !== true;
  const screen = useRef<HTMLDivElement>(null);
  const [cut, setCut] = useState(false);
  useLayoutEffect(() => {
    const element = screen.current;
    const texts = [...(element?.querySelectorAll('.lens-text') ?? [])];
    setCut(texts.some((one) => one.scrollHeight > one.clientHeight + 2));
  }, [layout, width, height, lines]);
  const size: CSSProperties & Record<`--${string}`, string | number> = {
    aspectRatio: `${width} / ${height}`,
    maxWidth: `${width}px`,
    '--lines': lines,
  };
  return (
    <div>
      <div className={green ? 'lens green' : 'lens'} style={size} ref={screen} role="region" aria-label="Display" aria-live="polite">
        {layout === null ? <p className="lens-idle">{idle}</p> : <Drawn layout={layout} pictures={display?.canDisplayBitmap !== false} />}
      </div>
      <p className="hint lens-facts">
        {width} × {height} pixels, {lines} lines{green ? ', green' : ''}
        {cut && <strong>. The text is longer than the display.</strong>}
      </p>
    </div>
  );
}

function Drawn({ layout, pictures }: { layout: Layout; pictures: boolean }) {
  switch (layout.kind) {
    case 'text':
      return <div className="lens-text">{layout.text}</div>;
    case 'two':
      return (
        <div className="lens-halves">
          <div className="lens-text">{layout.top}</div>
          <div className="lens-text">{layout.bottom}</div>
        </div>
      );
    case 'card':
      return (
        <div className="lens-card">
          <div className="lens-title">{layout.title}</div>
          <div className="lens-text">{layout.text}</div>
        </div>
      );
    case 'sides':
      return (
        <div className="lens-sides">
          <div className="lens-text">{layout.left}</div>
          <div className="lens-text">{layout.right}</div>
        </div>
      );
    case 'picture':
      if (!pictures) return <div className="lens-text">(an image; these glasses show text only)</div>;
      return layout.frames.length === 0 ? <div className="lens-text">{layoutText(layout)}</div> : <Pictures {...layout} />;
    case 'unknown':
      return <div className="lens-text">{layoutText(layout)}</div>;
    case 'clear':
      return null;
  }
}

function Pictures({ frames, intervalMs, repeat }: { frames: string[]; intervalMs: number; repeat: boolean }) {
  const [place, setPlace] = useState(0);
  useEffect(() => {
    setPlace(0);
    // With reduced motion, only the first frame is shown.
    if (frames.length < 2 || window.matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const timer = setInterval(() => setPlace((now) => (now + 1 < frames.length ? now + 1 : repeat ? 0 : now)), intervalMs);
    return () => clearInterval(timer);
  }, [frames, intervalMs, repeat]);
  return (
    <img
      className="lens-picture"
      src={`data:image/bmp;base64,${(frames[place] ?? frames[0] ?? '').replace(/\s+/g, '')}`}
      alt="Shown by the app"
    />
  );
}
