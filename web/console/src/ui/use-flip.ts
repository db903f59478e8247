/**
 * A switch whose state the server keeps. It shows at once what was asked for, and what the server says when everything
 * that was asked for is done. Presses are sent one after the other, so it need not be disabled meanwhile and keeps the focus.
 */
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { toastError } from './toast';

interface Options {
  /** Which switch this is, among all. */
  id: string;
  /** As the server has it. */
  on: boolean;
  send: (on: boolean) => Promise<unknown>;
  /** Reads the new state; the switch shows what was asked for until that is done. */
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
