import { useEffect, useMemo, useState } from 'react';
import { Button } from '../../ui/button';
import { Notice } from '../../ui/feedback';
import { isObject } from '../apps/tools/json';
import { changesSince, hashOf, readSeen, seenNow, writeSeen, type Changes } from './seen';

const NOTHING: Changes = { added: [], changed: [], gone: [] };

interface Listed {
  tools: unknown[];
  hidden?: { name: string }[] | null;
}

/** Compares with what this user saw last in this browser. On the first visit everything counts as seen. */
export function useSeen(user: string, listed: Listed | undefined) {
  const [seen, setSeen] = useState(() => readSeen(user));
  const now = useMemo(
    () => Object.fromEntries((listed?.tools ?? []).filter(isObject).map((tool) => [String(tool.name), hashOf(tool)])),
    [listed],
  );
  const hidden = useMemo(() => (listed?.hidden ?? []).map(({ name }) => name), [listed]);
  const mark = () => {
    const next = seenNow(seen ?? {}, now, hidden);
    writeSeen(user, next);
    setSeen(next);
  };
  useEffect(() => {
    if (listed !== undefined && seen === undefined) mark();
  });
  const changes = useMemo(
    () => (listed === undefined || seen === undefined ? NOTHING : changesSince(seen, now, hidden)),
    [listed, seen, now, hidden],
  );
  return { changes, mark };
}

export function SinceLastSeen({ changes, onSeen }: { changes: Changes; onSeen: () => void }) {
  const { added, changed, gone } = changes;
  if (added.length + changed.length + gone.length === 0) return null;
  const parts = [
    ...(added.length > 0 ? [`${added.length} new`] : []),
    ...(changed.length > 0 ? [`${changed.length} changed`] : []),
    ...(gone.length > 0 ? [`${gone.length} removed`] : []),
  ];
  return (
    <Notice>
      <div className="row between">
        <div className="grow">
          <p className="since">
            <strong>Since your last visit:</strong> {parts.join(', ')}.
          </p>
          {gone.length > 0 && (
            <p className="muted since">
              Removed: {gone.slice(0, 20).join(', ')}
              {gone.length > 20 && ` and ${gone.length - 20} more`}
            </p>
          )}
        </div>
        <Button small onClick={onSeen}>
          Mark as seen
        </Button>
      </div>
    </Notice>
  );
}
