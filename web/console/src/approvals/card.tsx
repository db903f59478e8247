/** One approval: what will run, exactly as the server will send it, who asks, and the answer. */
import { Link } from '@tanstack/react-router';
import { TriangleAlert } from 'lucide-react';
import { useId, useState, type ReactNode, type Ref } from 'react';
import type { ApprovalInfo } from '../api/approvals';
import { Badge } from '../ui/feedback';
import { Ago } from '../ui/time';
import { AnswerForm, type GiveAnswer } from './answer-form';
import { answerText, reasonText, requesterText, riskLabel, stateLabel, stateText } from './labels';
import { useNow } from './use-now';

interface Props {
  approval: ApprovalInfo;
  /** Whether the keyboard shortcuts apply to it. */
  isCurrent?: boolean;
  element?: Ref<HTMLElement>;
  give?: GiveAnswer;
  /** Called after this card was answered here. */
  onAnswered?: () => void;
  /** Whether to link to the page of this approval. */
  isLinked?: boolean;
  children?: ReactNode;
}

export function ApprovalCard({ approval, isCurrent = false, element, give, onAnswered, isLinked = true, children }: Props) {
  const id = useId();
  const [isMine, setMine] = useState(false);
  const [isLate, setLate] = useState(false);
  const now = useNow();
  const { summary, risk, state } = approval;
  const isPending = state === 'pending';
  const isOver = isPending && Date.parse(approval.expiresAt) <= now;
  return (
    <article
      ref={element}
      className={`card approval-card${isCurrent ? ' current' : ''}${isPending ? '' : ' answered'}`}
      aria-labelledby={id}
      aria-current={isCurrent || undefined}
      tabIndex={-1}
    >
      <div className="row between">
        <h2 id={id}>{summary.title}</h2>
        <div className="row">
          <Badge kind={riskLabel(risk).kind}>{riskLabel(risk).name}</Badge>
          <Badge kind={stateLabel(state).kind}>{stateLabel(state).name}</Badge>
        </div>
      </div>
      <p className="muted approval-origin">
        <strong>{summary.app}</strong>, <code>{approval.tool}</code>. Requested over {requesterText(approval.requester)}{' '}
        <Ago at={approval.createdAt} />
        {isPending && (
          <>
            , expires <Ago at={approval.expiresAt} />
          </>
        )}
        .
      </p>
      {summary.warning !== undefined && (
        <p className="notice warn approval-warning">
          <TriangleAlert size={18} aria-hidden /> {summary.warning}
        </p>
      )}
      <Arguments approval={approval} />
      {isPending && <p className="muted">{reasonText(approval.reason)}</p>}
      {isPending && !isOver && (
        <AnswerForm
          // Other arguments are another question: nothing that was entered for the previous one applies.
          key={approval.argumentsDigest}
          approval={approval}
          {...(give !== undefined && { give })}
          onAnswered={({ late }) => {
            setMine(!late);
            setLate(late);
            onAnswered?.();
          }}
        />
      )}
      {isOver && <p role="status">This question has expired.</p>}
      <div role="status">{!isPending && <Outcome approval={approval} isMine={isMine} isLate={isLate} />}</div>
      {children}
      {isLinked && (
        <p className="approval-link">
          <Link to="/approvals/$id" params={{ id: approval.id }} aria-label={`Open by itself: ${summary.title}`}>
            Open by itself
          </Link>
        </p>
      )}
    </article>
  );
}

function Arguments({ approval: { summary } }: { approval: ApprovalInfo }) {
  if (summary.lines.length === 0) return <p className="muted">No arguments.</p>;
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={`Arguments of ${summary.title}`}>
      <table className="approval-lines">
        <tbody>
          {summary.lines.map(({ label, value }, place) => (
            <tr key={place}>
              <th scope="row">{label}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Outcome({ approval, isMine, isLate }: { approval: ApprovalInfo; isMine: boolean; isLate: boolean }) {
  const answered = answerText(approval);
  return (
    <>
      <p className="approval-state">
        {isLate && <strong>Already answered. </strong>}
        {stateText(approval)}{' '}
        {approval.runId && approval.state === 'done' && (
          <Link to="/activity/$id" params={{ id: approval.runId }}>
            Show the call
          </Link>
        )}
      </p>
      {answered !== undefined && !isMine && approval.answer && (
        <p className="muted">
          {answered} <Ago at={approval.answer.at} />.
        </p>
      )}
      {approval.answer?.note && <p className="muted approval-said">Note: {approval.answer.note}</p>}
    </>
  );
}
