import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ApprovalInfo } from '../../api/approvals';
import { answerText, argumentsExcerpt, stateLabel } from '../../approvals/labels';
import { historyQuery } from '../../approvals/queries';
import { Badge, ErrorBox } from '../../ui/feedback';
import { MoreFromServer } from '../../ui/more';
import { Ago } from '../../ui/time';

/** Answered and expired approvals, without those that are shown above. */
export function History({ except }: { except: readonly ApprovalInfo[] }) {
  const list = useInfiniteQuery(historyQuery);
  const above = new Set(except.map(({ id }) => id));
  const all = list.data?.pages.flatMap((page) => page.approvals) ?? [];
  const answered = all.filter(({ id, state }) => state !== 'pending' && !above.has(id));
  if (list.error && list.data === undefined) return <ErrorBox error={list.error} onRetry={() => void list.refetch()} />;
  if (answered.length === 0 && !list.hasNextPage) return null;
  return (
    <section aria-labelledby="approval-history" className="approval-history">
      <h2 id="approval-history">History</h2>
      <ul className="plain-list" aria-label="Answered approvals">
        {answered.map((one) => (
          <li key={one.id}>
            <div className="grow">
              <Link to="/approvals/$id" params={{ id: one.id }}>
                {one.summary.title}
              </Link>{' '}
              <span className="muted">{argumentsExcerpt(one)}</span>
              <p className="muted flat">
                {answerText(one) ?? 'Nobody answered'}, requested <Ago at={one.createdAt} />
              </p>
            </div>
            <Badge kind={stateLabel(one.state).kind}>{stateLabel(one.state).name}</Badge>
          </li>
        ))}
      </ul>
      <MoreFromServer pages={list} />
    </section>
  );
}
