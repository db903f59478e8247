/** What runs without a question, or never: remembered approvals, grants, and choices for tools. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { deleteChoice, revokeApprovalGrant, type ApprovalGrantInfo, type ToolChoiceInfo } from '../../api/approvals';
import { queryClient } from '../../api/queries';
import { CHOICES, grantText } from '../../approvals/labels';
import { choicesQuery, grantsQuery } from '../../approvals/queries';
import { Button } from '../../ui/button';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { useMore } from '../../ui/more';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';

export function Remembered() {
  const grants = useQuery(grantsQuery);
  const choices = useQuery(choicesQuery);
  if (grants.isPending || choices.isPending) return <Loading what="what you allowed" />;
  if (grants.data === undefined || choices.data === undefined) {
    return <ErrorBox error={grants.error ?? choices.error} onRetry={() => void Promise.all([grants.refetch(), choices.refetch()])} />;
  }
  return (
    <>
      <Grants grants={grants.data.grants} />
      <Choices choices={choices.data.choices} />
    </>
  );
}

const refetchRules = () => queryClient.invalidateQueries({ queryKey: ['approval-rules'] });

function Grants({ grants }: { grants: readonly ApprovalGrantInfo[] }) {
  const { shown, more } = useMore(grants);
  const list = useRef<HTMLUListElement>(null);
  const revoke = useMutation({
    mutationFn: ({ id }: ApprovalGrantInfo) => revokeApprovalGrant(id),
    onSuccess: (_, { tool }) => {
      list.current?.focus();
      toast(`You will be asked about ${tool} again.`);
    },
    onError: toastError,
    onSettled: refetchRules,
  });
  return (
    <section aria-labelledby="approval-grants">
      <h2 id="approval-grants">Remembered approvals and grants</h2>
      {grants.length === 0 && (
        <Empty title="Nothing remembered">
          <p>When you approve a call, you can allow later calls of the same tool.</p>
        </Empty>
      )}
      <ul ref={list} className="plain-list" aria-label="Remembered approvals and grants" tabIndex={-1}>
        {shown.map((grant) => (
          <li key={grant.id} className="card row between">
            <div className="grow">
              <h3>
                <code>{grant.tool}</code>
              </h3>
              <p className="muted flat anywhere">
                Allows {grantText(grant)}. Given <Ago at={grant.createdAt} />, ends{' '}
                {grant.until && (
                  <>
                    <Ago at={grant.until} />, or{' '}
                  </>
                )}
                when the tool changes.
              </p>
            </div>
            <Button
              small
              kind="danger"
              disabled={revoke.isPending}
              onClick={() => revoke.mutate(grant)}
              aria-label={`Revoke ${grant.tool}`}
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
      {more}
    </section>
  );
}

function Choices({ choices }: { choices: readonly ToolChoiceInfo[] }) {
  const { shown, more } = useMore(choices);
  const list = useRef<HTMLUListElement>(null);
  const remove = useMutation({
    mutationFn: ({ tool }: ToolChoiceInfo) => deleteChoice(tool),
    onSuccess: (_, { tool }) => {
      list.current?.focus();
      toast(`${tool} follows the rules of the server again.`);
    },
    onError: toastError,
    onSettled: refetchRules,
  });
  return (
    <section aria-labelledby="approval-choices">
      <h2 id="approval-choices">Your choices for tools</h2>
      <p className="muted">
        Set them on the page <Link to="/tools">Tools</Link>.
      </p>
      <ul ref={list} className="plain-list" aria-label="Your choices for tools" tabIndex={-1}>
        {shown.map((one) => (
          <li key={one.tool} className="card row between">
            <div className="grow">
              <h3>
                <code>{one.tool}</code>
              </h3>
              <p className="muted flat anywhere">
                {CHOICES[one.choice].name}
                {one.until && (
                  <>
                    , ends <Ago at={one.until} />
                  </>
                )}
                {one.untilChanged && ', until the tool changes'}. Chosen <Ago at={one.chosenAt} />.
              </p>
            </div>
            <Button
              small
              kind="danger"
              disabled={remove.isPending}
              onClick={() => remove.mutate(one)}
              aria-label={`Remove the choice for ${one.tool}`}
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
      {more}
    </section>
  );
}
