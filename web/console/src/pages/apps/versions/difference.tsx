/** The differences of two versions, by tool and field. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Badge, ErrorBox, Loading } from '../../../ui/feedback';
import { useMore } from '../../../ui/more';
import { countLabel } from '../../../ui/labels';
import { versionQuery } from '../api';
import { diffLines, diffSets, folded, type EntryChange, type FieldChange } from './diff';

export function Difference({ app, from, to }: { app: string; from: number; to: number }) {
  const before = useQuery(versionQuery(app, from));
  const after = useQuery(versionQuery(app, to));
  const changes = useMemo(
    () => (before.data === undefined || after.data === undefined ? [] : diffSets(before.data, after.data)),
    [before.data, after.data],
  );
  const { shown, more } = useMore(changes, 40);
  const error = before.error ?? after.error;
  if (error !== null) return <ErrorBox error={error} onRetry={() => void Promise.all([before.refetch(), after.refetch()])} />;
  if (before.isPending || after.isPending) return <Loading what="both versions" />;
  if (changes.length === 0) return <p className="muted">Both versions are identical.</p>;
  return (
    <>
      <p role="status" className="muted">
        {summary(changes)}
      </p>
      <ul className="plain-list changes">
        {shown.map((change) => (
          <li key={`${change.what} ${change.name}`}>
            <Entry change={change} />
          </li>
        ))}
      </ul>
      {more}
    </>
  );
}

const KINDS = { added: 'good', removed: 'bad', changed: 'accent' } as const;

function summary(changes: readonly EntryChange[]): string {
  const count = (kind: EntryChange['kind']) => changes.filter((change) => change.kind === kind).length;
  return `${count('added')} added, ${count('removed')} removed, ${count('changed')} changed`;
}

function Entry({ change }: { change: EntryChange }) {
  return (
    <details className="change" open={change.kind === 'changed'}>
      <summary>
        <Badge kind={KINDS[change.kind]}>{change.kind}</Badge>
        <strong className="anywhere">{change.name}</strong>
        {change.what !== 'tool' && <span className="muted">{change.what}</span>}
        {change.kind === 'changed' && <span className="muted">{change.fields.map(({ field }) => field).join(', ')}</span>}
      </summary>
      {change.fields.map((field) => (
        <FieldDifference key={field.field} change={field} />
      ))}
    </details>
  );
}

function FieldDifference({ change }: { change: FieldChange }) {
  const lines = useMemo(() => folded(diffLines(change.before ?? '', change.after ?? '')), [change]);
  return (
    <div className="field-change">
      <h3>{change.field}</h3>
      <div className="sides">
        {change.before !== undefined && (
          <Side label={`${change.field} before`} lines={lines.filter(({ kind }) => kind !== 'after')} code={change.code} title="Before" />
        )}
        {change.after !== undefined && (
          <Side label={`${change.field} after`} lines={lines.filter(({ kind }) => kind !== 'before')} code={change.code} title="After" />
        )}
      </div>
    </div>
  );
}

const MOST_LINES = 500;

function Side({ title, label, lines, code }: { title: string; label: string; lines: ReturnType<typeof folded>; code: boolean }) {
  return (
    <div className={code ? 'side code' : 'side'} role="group" aria-label={label}>
      <p className="side-title">{title}</p>
      {lines.slice(0, MOST_LINES).map((line, place) => (
        <SideLine key={place} line={line} />
      ))}
      {lines.length > MOST_LINES && <p className="muted">and {lines.length - MOST_LINES} more lines</p>}
    </div>
  );
}

function SideLine({ line }: { line: ReturnType<typeof folded>[number] }) {
  if (line.kind === 'fold') return <p className="side-fold">{countLabel(line.count, 'line')} unchanged</p>;
  // An empty line keeps its height.
  const text = line.text || '\u00a0';
  if (line.kind === 'before') return <del className="side-line">{text}</del>;
  return line.kind === 'after' ? <ins className="side-line">{text}</ins> : <div className="side-line">{text}</div>;
}
