/**
 * Items of long lists: each is rendered when it comes near the screen, and stays rendered. Until then it is its name in a box of about
 * the right height, so that the list is complete for the scroll bar, the browser's search and screen readers, and thousands of items cost
 * little more than twenty.
 */
import { useEffect, useRef, useState, type ReactNode } from 'react';

/** How far outside of the screen items are rendered. */
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
  /** The label of a section, for screen readers. */
  label?: string;
  /** The placeholder until it is rendered. */
  name: string;
  /** Approximate height in pixels. */
  height: number;
  /** Whether it is rendered at once: the first items of a list are on the screen anyway. */
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

/** Number of items that are rendered at once. */
export const FIRST = 12;
