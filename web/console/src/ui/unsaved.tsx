/** Asks before the user leaves unsaved changes: inside the console with a dialog, otherwise with the browser's prompt. */
import { useBlocker } from '@tanstack/react-router';
import { Confirm } from './dialog';

export function Unsaved({ dirty, what }: { dirty: boolean; what: string }) {
  const blocker = useBlocker({ shouldBlockFn: () => dirty, enableBeforeUnload: () => dirty, withResolver: true });
  if (blocker.status !== 'blocked') return null;
  return (
    <Confirm title="Leave without saving?" action="Leave and discard changes" danger onConfirm={blocker.proceed} onClose={blocker.reset}>
      <p>{what}</p>
    </Confirm>
  );
}
