/** Menus and popovers close on Escape, on a press or focus outside, and on navigation. */
import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, type RefObject } from 'react';

interface Options {
  open: boolean;
  onClose: () => void;
  /** The elements that belong to it; a press anywhere else closes it. */
  inside: readonly RefObject<HTMLElement | null>[];
  /** Gets the focus after Escape. */
  opener: RefObject<HTMLElement | null>;
}

export function useDismiss({ open, onClose, inside, opener }: Options): void {
  const latest = useRef({ onClose, inside });
  useEffect(() => {
    latest.current = { onClose, inside };
  });
  const place = useRouterState({ select: (state) => state.location.href });
  const opened = useRef(place);
  useEffect(() => {
    if (open && opened.current !== place) latest.current.onClose();
    opened.current = place;
  }, [open, place]);
  useEffect(() => {
    if (!open) return;
    const leave = ({ target }: Event) => {
      const isInside = latest.current.inside.some(({ current }) => target instanceof Node && current?.contains(target));
      if (!isInside) latest.current.onClose();
    };
    const onEscape = (event: KeyboardEvent) => {
      // A dialog above it is closed first.
      if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('dialog:modal') !== null) return;
      event.preventDefault();
      latest.current.onClose();
      opener.current?.focus();
    };
    document.addEventListener('pointerdown', leave);
    document.addEventListener('focusin', leave);
    document.addEventListener('keydown', onEscape);
    return () => {
      document.removeEventListener('pointerdown', leave);
      document.removeEventListener('focusin', leave);
      document.removeEventListener('keydown', onEscape);
    };
  }, [open, opener]);
}
