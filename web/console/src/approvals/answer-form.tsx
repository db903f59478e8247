/** The answer to an approval: approve or deny, how a yes is remembered, and a note with a no. */
import { useMutation } from '@tanstack/react-query';
import { Check, X } from 'lucide-react';
import { useState } from 'react';
import type { ApprovalInfo } from '../api/approvals';
import { Button } from '../ui/button';
import { ErrorBox } from '../ui/feedback';
import { Field, Input, Select } from '../ui/form';
import { answerApproval, type AnswerResult } from './queries';
import { daysOf, hasDays, MAX_DAYS, rememberOptions, scopeOf, type RememberChoice } from './remember';

/** The server accepts 500 bytes. */
const MAX_NOTE_CHARS = 160;

export type GiveAnswer = (...given: Parameters<typeof answerApproval>) => Promise<AnswerResult>;

interface Props {
  approval: ApprovalInfo;
  /** Sends the answer. Default: to the server. */
  give?: GiveAnswer;
  onAnswered?: (result: AnswerResult) => void;
}

export function AnswerForm({ approval, give = answerApproval, onAnswered }: Props) {
  const [remember, setRemember] = useState<RememberChoice>('once');
  const [days, setDays] = useState('');
  const [note, setNote] = useState('');
  const options = rememberOptions(approval);
  const limit = daysOf(days);
  const isLimited = hasDays(remember);
  const wrongDays = isLimited && limit === null;
  const { title } = approval.summary;
  const answer = useMutation({
    mutationFn: (yes: boolean) =>
      give(
        approval,
        yes
          ? { answer: 'approve', remember: scopeOf(remember, limit ?? undefined) }
          : { answer: 'deny', ...(note.trim() !== '' && { note: note.trim() }) },
      ),
    ...(onAnswered !== undefined && { onSuccess: onAnswered }),
  });
  // Stays disabled after success, until the card shows the new state.
  const isBusy = answer.isPending || answer.isSuccess;
  return (
    <div className="approval-answer">
      {answer.error && <ErrorBox error={answer.error} />}
      {options.length > 1 && (
        <div className="approval-remember">
          <Field label="If you approve, allow">
            <Select value={remember} onChange={(next) => setRemember(next as RememberChoice)} options={options} />
          </Field>
          {isLimited && (
            <Field label="For days" hint="Empty: until you revoke it" error={wrongDays ? `Enter 1 to ${MAX_DAYS}.` : undefined}>
              <Input inputMode="numeric" value={days} onChange={setDays} maxLength={4} />
            </Field>
          )}
        </div>
      )}
      <div className="row">
        <Button
          kind="primary"
          data-answer="approve"
          disabled={isBusy || wrongDays}
          aria-label={`Approve ${title}`}
          icon={<Check size={16} aria-hidden />}
          onClick={() => answer.mutate(true)}
        >
          Approve
        </Button>
        <Button
          kind="danger"
          data-answer="deny"
          disabled={isBusy}
          aria-label={`Deny ${title}`}
          icon={<X size={16} aria-hidden />}
          onClick={() => answer.mutate(false)}
        >
          Deny
        </Button>
      </div>
      <details className="approval-note">
        <summary>Add a note to a denial</summary>
        <Field label="Note" hint="The assistant receives it.">
          <Input value={note} onChange={setNote} maxLength={MAX_NOTE_CHARS} />
        </Field>
      </details>
    </div>
  );
}
