/**
 * A switch whose state is stored on the server. It shows the requested state at once, and the server's state when all requests are done.
 * Requests are sent one after the other, so it need not be disabled meanwhile and keeps the focus.
 */
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { toastError } from './toast';

interface Options {
  /** The id of this switch. */
  id: string;
  /** The state on the server. */
  on: boolean;
  send: (on: boolean) => Promise<unknown>;
  /** Reloads the state; the switch shows the requested state until that is done. */
  onDone: (on: boolean) => Promise<unknown> | void;
}

export function useFlip({ id, on, send, onDone }: Options): { on: boolean; flip: (on: boolean) => void } {
  const [wanted, setWanted] = useState<boolean>();
  const pending = useRef(0);
  const change = useMutation({
    scope: { id: `switch ${id}` },
    mutationFn: send,
    onSuccess: (_, next) => onDone(next),
    onError: toastError,
    onSettled: () => {
      pending.current -= 1;
      if (pending.current === 0) setWanted(undefined);
    },
  });
  const flip = (next: boolean) => {
    pending.current += 1;
    setWanted(next);
    change.mutate(next);
  };
  return { on: wanted ?? on, flip };
}
