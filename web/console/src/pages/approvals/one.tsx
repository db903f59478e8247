/** One approval by itself: the target of links in messages and notifications. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { useRef } from 'react';
import { ApiError } from '../../api/error';
import { ApprovalCard } from '../../approvals/card';
import { approvalQuery } from '../../approvals/queries';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Page } from '../../ui/page';
import './style.css';

/** The server rejects malformed ids with 400. */
const MISSING: ReadonlySet<number> = new Set([400, 404]);

export function ApprovalPage() {
  const { id } = useParams({ from: '/approvals/$id' });
  const approval = useQuery(approvalQuery(id));
  const card = useRef<HTMLElement>(null);
  const isMissing = approval.error instanceof ApiError && MISSING.has(approval.error.status);
  return (
    <Page title="Approval">
      <div className="approvals-page">
        <p>
          <Link to="/approvals" className="back">
            <ArrowLeft size={16} aria-hidden /> All approvals
          </Link>
        </p>
        {approval.isPending && <Loading what="the approval" />}
        {isMissing && (
          <Empty title="No such approval">
            <p>It belongs to another user, or it is older than the server keeps approvals.</p>
          </Empty>
        )}
        {approval.error && !isMissing && <ErrorBox error={approval.error} onRetry={() => void approval.refetch()} />}
        {approval.data !== undefined && (
          // The pressed button disappears, so the focus moves to the card.
          <ApprovalCard approval={approval.data} isLinked={false} element={card} onAnswered={() => card.current?.focus()} />
        )}
      </div>
    </Page>
  );
}
