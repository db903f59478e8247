/** Asks before somebody leaves what they have not saved: inside the console with a dialog, beyond it as the browser does. */
import { useBlocker } from '@tanstack/react-router';
import { Confirm } from './dialog';

export function Unsaved({ dirty, what }: { dirty: boolean; what: string }) {
  const blocker = useBlocker({ shouldBlockFn: () => dirty, enableBeforeUnload: () => dirty, withResolver: true });
  if (blocker.status !== 'blocked') return null;
  return (
    <Confirm title="Leave without saving?" action="Leave and lose the changes" danger onConfirm={blocker.proceed} onClose={blocker.reset}>
      <p>{what}</p>
    </Confirm>
  );
}
