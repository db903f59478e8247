/** The operator's approval policy: which calls run, which are asked about, and which are refused. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { putApprovalPolicy, resetApprovalPolicy, type ApprovalPolicy } from '../../api/approvals';
import { ApiError } from '../../api/error';
import { queryClient } from '../../api/queries';
import { policyQuery } from '../../approvals/queries';
import { Button } from '../../ui/button';
import { CodeArea } from '../../ui/code-area';
import { Confirm } from '../../ui/dialog';
import { Badge, ErrorBox, Loading } from '../../ui/feedback';
import { Field } from '../../ui/form';
import { parseJson, placeIn } from '../../ui/json-text';
import { Card } from '../../ui/page';
import { toast, toastError } from '../../ui/toast';
import { Unsaved } from '../../ui/unsaved';
import { RulePreview } from './rule-preview';

const textOf = ({ preset, rules }: ApprovalPolicy) => JSON.stringify({ preset, rules }, null, 2);
const refetchPolicy = () => queryClient.invalidateQueries({ queryKey: policyQuery.queryKey });

export function ApprovalRules() {
  const policy = useQuery(policyQuery);
  const [isAsked, ask] = useState(false);
  const reset = useMutation({
    mutationFn: resetApprovalPolicy,
    onSuccess: () => toast('The policy of the configuration file applies again.'),
    onError: toastError,
    onSettled: () => {
      ask(false);
      return refetchPolicy();
    },
  });
  if (policy.isPending) return <Loading what="the policy" />;
  if (policy.data === undefined) return <ErrorBox error={policy.error} onRetry={() => void policy.refetch()} />;
  const isStored = policy.data.source === 'stored';
  const saved = textOf(policy.data);
  return (
    <>
      <p className="muted">
        The first rule that matches a call decides: <code>allow</code>, <code>ask</code> or <code>deny</code>. Otherwise the preset does:{' '}
        <code>open</code> runs everything, <code>default</code> asks about tools that are annotated as destructive, <code>strict</code> asks
        about everything that is not annotated as harmless. With <code>"floor": true</code>, users cannot choose something less strict.
      </p>
      <Card
        title="Policy"
        actions={
          <div className="row">
            <Badge>{isStored ? 'set here' : 'from the configuration file'}</Badge>
            {isStored && (
              <Button small onClick={() => ask(true)}>
                Use the configuration file
              </Button>
            )}
          </div>
        }
      >
        {/* Without changes of one's own, the editor follows the policy on the server. */}
        <PolicyEditor saved={saved} rules={policy.data.rules} />
      </Card>
      {isAsked && (
        <Confirm
          title="Use the policy of the configuration file?"
          action="Discard this policy"
          danger
          busy={reset.isPending}
          onConfirm={() => reset.mutate()}
          onClose={() => ask(false)}
        >
          <p>The policy that was set here is deleted.</p>
        </Confirm>
      )}
    </>
  );
}

function PolicyEditor({ saved, rules }: { saved: string; rules: readonly unknown[] }) {
  const [typed, setTyped] = useState<string>();
  const text = typed ?? saved;
  const parsed = parseJson(text);
  const save = useMutation({
    mutationFn: putApprovalPolicy,
    onSuccess: async () => {
      await refetchPolicy();
      setTyped(undefined);
      toast('The policy was saved.');
    },
  });
  const problems = save.error instanceof ApiError ? save.error.problems : [];
  const [first] = problems;
  const firstPlace = parsed.ok && first?.path !== undefined ? placeIn(parsed.places, first.path) : undefined;
  const change = (next: string) => {
    save.reset();
    setTyped(next === saved ? undefined : next);
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (parsed.ok) save.mutate(parsed.value);
      }}
    >
      <Unsaved dirty={typed !== undefined} what="The changes to the approval policy are not saved." />
      {save.error && <ErrorBox error={save.error} />}
      <Field label="Policy as JSON" error={parsed.ok ? undefined : `Line ${parsed.at.line}: ${parsed.message}`}>
        <CodeArea value={text} onChange={change} wrongLine={parsed.ok ? firstPlace?.line : parsed.at.line} />
      </Field>
      <div className="row">
        <Button type="submit" kind="primary" disabled={typed === undefined || !parsed.ok || save.isPending}>
          Save
        </Button>
        <Button disabled={typed === undefined} onClick={() => change(saved)}>
          Discard
        </Button>
      </div>
      {parsed.ok && <RulePreview before={rules} policy={parsed.value} />}
    </form>
  );
}
