/**
 * Parts of long lists: each is drawn when it comes near the screen, and stays drawn from then on. Until then it is its name
 * in a box of about the right height, so that the list is complete for the scroll bar, for search in the page and for
 * screen readers, and a list of thousands costs little more than one of twenty.
 */
import { useEffect, useRef, useState, type ReactNode } from 'react';

/** How far beyond the screen parts are drawn already. */
const MARGIN = '800px';
const draws = new WeakMap<Element, () => void>();
let observer: IntersectionObserver | undefined;

function drawWhenNear(element: Element, draw: () => void): () => void {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) draws.get(target)?.();
    },
    { rootMargin: MARGIN },
  );
  const watching = observer;
  draws.set(element, draw);
  watching.observe(element);
  return () => watching.unobserve(element);
}

interface Props {
  as?: 'li' | 'section';
  className?: string;
  /** Read aloud, for a section. */
  label?: string;
  /** What stands there until it is drawn. */
  name: string;
  /** About how high it will be, in pixels. */
  height: number;
  /** Whether it is drawn at once: the first ones of a list, which are on the screen anyway. */
  first?: boolean;
  children: () => ReactNode;
}

export function Lazy({ as: Tag = 'li', className, label, name, height, first = false, children }: Props) {
  const [isDrawn, setDrawn] = useState(first);
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isDrawn || element.current === null) return;
    return drawWhenNear(element.current, () => setDrawn(true));
  }, [isDrawn]);
  const attach = (to: HTMLElement | null) => {
    element.current = to;
  };
  return (
    <Tag ref={attach} className={className} aria-label={label} style={isDrawn ? undefined : { minHeight: height }}>
      {isDrawn ? children() : name}
    </Tag>
  );
}

/** Parts of a list that are drawn at once. */
export const FIRST = 12;
