/** An approval in the conversation that asked for it. */
import { useQuery } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useRef } from 'react';
import { ApprovalCard } from '../../approvals/card';
import type { ApprovalInfo } from '../../api/approvals';
import type { GiveAnswer } from '../../approvals/answer-form';
import { answerApproval, approvalQuery } from '../../approvals/queries';
import { Button } from '../../ui/button';
import { Notice } from '../../ui/feedback';
import { toastError } from '../../ui/toast';

/** Answers a tool part of the AI SDK, which then continues the conversation. */
type Respond = (id: string, approved: boolean, reason?: string) => Promise<void>;

export const RespondContext = createContext<Respond | null>(null);

interface Props {
  /** The approval on the server. */
  id: string;
  /** The id in the tool part, if the AI SDK waits for an answer. */
  requested?: string | undefined;
  /** Whether the answer is in progress: then the server continues it by itself. */
  live: boolean;
}

export function InlineApproval({ id, requested, live }: Props) {
  const respond = useContext(RespondContext);
  const approval = useQuery(approvalQuery(id));
  const answerPart = requested === undefined || respond === null ? undefined : respond.bind(null, requested);
  const answering = useContinueElsewhere(approval.data, live ? undefined : answerPart);
  if (approval.data === undefined) {
    if (approval.isPending || answerPart === undefined) return null;
    return <UnknownApproval respond={answerPart} />;
  }
  const { state, answer } = approval.data;
  // The server gets the answer first: only there is it bound to the arguments that were shown, and can be remembered. The part of the AI SDK
  // then continues the conversation. If another answer was first, it continues with that one.
  const give: GiveAnswer = async (shown, given) => {
    answering.current = true;
    const result = await answerApproval(shown, given, 'chat').catch((error: unknown) => {
      answering.current = false;
      throw error;
    });
    await answerPart?.(result.approval.answer?.answer === 'approve', result.approval.answer?.note ?? undefined);
    return result;
  };
  const canContinue = answerPart !== undefined && state !== 'pending' && !live;
  return (
    <ApprovalCard approval={approval.data} give={give}>
      {canContinue && (
        <p>
          <Button small onClick={() => void answerPart(answer?.answer === 'approve', answer?.note ?? undefined).catch(toastError)}>
            Continue the conversation
          </Button>
        </p>
      )}
    </ApprovalCard>
  );
}

/**
 * Continues the conversation when a question that this page shows is answered elsewhere. A question that was answered before the page showed it
 * waits for a click: another page may have continued the conversation. The result is set while and after this page gives the answer.
 */
function useContinueElsewhere(approval: ApprovalInfo | undefined, answerPart?: (approved: boolean, reason?: string) => Promise<void>) {
  const answering = useRef(false);
  const wasPending = useRef(false);
  const state = approval?.state;
  useEffect(() => {
    if (state === 'pending') wasPending.current = true;
    if (state === undefined || state === 'pending' || !wasPending.current || answering.current || answerPart === undefined) return;
    wasPending.current = false;
    void answerPart(approval?.answer?.answer === 'approve', approval?.answer?.note ?? undefined).catch(toastError);
  });
  return answering;
}

/** The server does not know it, for example because it has expired long ago. */
function UnknownApproval({ respond }: { respond: (approved: boolean, reason?: string) => Promise<void> }) {
  return (
    <Notice kind="warn">
      <p>The assistant asked for an approval that the server no longer has. The call does not run.</p>
      <Button small onClick={() => void respond(false, 'The approval is no longer available.').catch(toastError)}>
        Continue without it
      </Button>
    </Notice>
  );
}
