/** Changed definitions: the accepted version stays in use until someone accepts the new one. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answerChange, changeQuery, changesQuery, type DefinitionAnswer, type DefinitionChange } from '../../api/definitions';
import { queryClient, useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Ago } from '../../ui/time';
import { toast } from '../../ui/toast';

const KINDS: Readonly<Record<DefinitionChange['kind'], string>> = {
  added: 'New',
  changed: 'Changed',
  renamed: 'Renamed',
  swapped: 'Swapped',
  'took-over': 'Took over',
  duplicated: 'Listed twice',
  reverted: 'Back to an earlier version',
};

/** What changed, for people. */
function subjectText(change: DefinitionChange): string {
  if (change.subject === 'tool') return change.tool ?? `${change.package}:${change.name}`;
  return change.subject === 'page' ? `${change.package}, page ${change.name}` : `${change.package}, instructions for assistants`;
}

export function ChangedDefinitions() {
  const list = useQuery(changesQuery);
  const { operates } = useMe();
  if (list.error && list.data === undefined) return <ErrorBox error={list.error} onRetry={() => void list.refetch()} />;
  if (list.data === undefined) return <Loading what="changed definitions" />;
  const { changes, next } = list.data;
  if (changes.length === 0) {
    return (
      <Empty title="No changed definitions">If a tool changes, the version you know stays in use, and the change is listed here.</Empty>
    );
  }
  return (
    <>
      <p className="muted">
        {operates ? 'Your answer counts for everyone.' : 'Your answer counts for you.'} Until then, the accepted version stays in use.
      </p>
      <ul className="plain-list changed-definitions" aria-label="Changed definitions">
        {changes.map((change) => (
          <li key={change.id}>
            <ChangeRow change={change} />
          </li>
        ))}
      </ul>
      {next !== undefined && <p className="muted">Only the first {changes.length} are shown. Answer some to see the others.</p>}
    </>
  );
}

function ChangeRow({ change }: { change: DefinitionChange }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="grow">
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span className="tool-title">{subjectText(change)}</span> <Badge>{KINDS[change.kind]}</Badge>{' '}
          {change.other !== undefined && <span className="muted">{change.other} </span>}
          {change.user !== undefined && <Badge>Only for {change.user}</Badge>}
          {change.flagged > 0 && <Badge kind="warn">Looks suspicious</Badge>}
          {change.state === 'rejected' && <Badge>Rejected</Badge>}{' '}
          <span className="muted">
            <Ago at={change.since} />
          </span>
        </summary>
        {isOpen && <ChangeDetails change={change} />}
      </details>
    </div>
  );
}

function ChangeDetails({ change }: { change: DefinitionChange }) {
  const details = useQuery(changeQuery(change.id, change.digest));
  const answer = useMutation({
    mutationFn: (given: DefinitionAnswer) => answerChange(change, given),
    onSuccess: (_, given) => toast(`${subjectText(change)}: ${given === 'accept' ? 'accepted' : 'rejected'}.`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['definitions'] }),
  });
  if (details.error && details.data === undefined) {
    return <ErrorBox error={details.error} onRetry={() => void details.refetch()} />;
  }
  if (details.data === undefined) return <Loading what="what differs" />;
  const { diff, findings } = details.data;
  // If it changed again since the list was read, the list is reloaded and shows the new version.
  const isCurrent = details.data.digest === change.digest;
  return (
    <>
      {findings.length > 0 && (
        <ul aria-label="Findings">
          {findings.map((one) => (
            <li key={`${one.rule} ${one.pointer} ${one.reason}`}>
              <Badge kind={one.severity === 'low' ? 'plain' : 'warn'}>{one.rule}</Badge> {one.reason}: <q>{one.excerpt}</q>
            </li>
          ))}
        </ul>
      )}
      <section className="definition-diff" aria-label={`Differences of ${subjectText(change)}`}>
        <pre>
          {diff.map((line, place) => (
            <span key={place} className={LINE_CLASSES[line.charAt(0)] ?? ''}>
              {line}
              {'\n'}
            </span>
          ))}
        </pre>
      </section>
      {answer.error && <ErrorBox error={answer.error} />}
      <div className="row">
        <Button kind="primary" disabled={!isCurrent || answer.isPending} onClick={() => answer.mutate('accept')}>
          Accept the new version
        </Button>
        {change.state === 'pending' && (
          <Button disabled={!isCurrent || answer.isPending} onClick={() => answer.mutate('reject')}>
            Reject
          </Button>
        )}
      </div>
    </>
  );
}

const LINE_CLASSES: Readonly<Record<string, string>> = { '+': 'diff-added', '-': 'diff-removed', '@': 'diff-place' };
