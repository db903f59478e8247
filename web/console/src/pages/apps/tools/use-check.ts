/** Lets the server check the tools, a moment after the last key press. */
import { useEffect, useState } from 'react';
import { checkTools, type CheckedTools } from '../../../api/console';
import { useDebounced } from '../../../ui/debounced';

/** The previous result stays visible until the next one arrives, so that nothing jumps while the user types. */
export type Check =
  | { state: 'waiting'; checked?: CheckedTools }
  | { state: 'checked'; checked: CheckedTools }
  | { state: 'failed'; error: unknown };

export function useCheck(app: string, body: string): Check {
  const settled = useDebounced(body, 350);
  const [answer, setAnswer] = useState<{ of: string; check: Check }>();
  useEffect(() => {
    let isOver = false;
    const tell = (check: Check) => {
      if (!isOver) setAnswer({ of: settled, check });
    };
    checkTools(app, JSON.parse(settled)).then(
      (checked) => tell({ state: 'checked', checked }),
      (error: unknown) => tell({ state: 'failed', error }),
    );
    return () => {
      isOver = true;
    };
  }, [app, settled]);
  if (answer === undefined) return { state: 'waiting' };
  if (answer.of === body) return answer.check;
  return answer.check.state === 'checked' ? { state: 'waiting', checked: answer.check.checked } : { state: 'waiting' };
}
