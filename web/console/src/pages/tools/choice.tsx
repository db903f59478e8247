/** Whether a tool runs without asking: the user's choice, saved after a look at what it would have done. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { deleteChoice, previewRule, putChoice, type ChoiceRequest, type ToolChoice, type ToolChoiceInfo } from '../../api/approvals';
import { queryClient, useMe } from '../../api/queries';
import { CHOICES, previewText } from '../../approvals/labels';
import { daysOf, MAX_DAYS } from '../../approvals/remember';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ErrorBox } from '../../ui/feedback';
import { Check, Field, Input, Select } from '../../ui/form';
import { fullTime } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';
import type { Tool } from './tool';

const DEFAULT = 'default';
const OPTIONS = [
  { value: DEFAULT, label: 'Default: as the server’s rules say' },
  ...Object.entries(CHOICES).map(([value, { name }]) => ({ value, label: name })),
];

const refetchChoices = () => queryClient.invalidateQueries({ queryKey: ['approval-rules'] });

interface Props {
  tool: Tool;
  choice: ToolChoiceInfo | undefined;
}

export function ChoiceSelect({ tool, choice }: Props) {
  const [asked, ask] = useState<ToolChoice>();
  const remove = useMutation({
    mutationFn: () => deleteChoice(tool.name),
    onSuccess: () => toast(`${tool.title} follows the rules of the server.`),
    onError: toastError,
    onSettled: refetchChoices,
  });
  const limits = [
    ...(choice?.until ? [`until ${fullTime(choice.until)}`] : []),
    ...(choice?.untilChanged === true ? ['until its definition changes'] : []),
  ];
  return (
    <div className="tool-choice">
      <Field label={`Runs: ${tool.title}`} {...(limits.length > 0 && { hint: `Holds ${limits.join(', or ')}.` })}>
        <Select
          value={asked ?? choice?.choice ?? DEFAULT}
          disabled={remove.isPending}
          onChange={(next) => (next === DEFAULT ? remove.mutate() : ask(next as ToolChoice))}
          options={OPTIONS}
        />
      </Field>
      {asked !== undefined && <ChoiceDialog tool={tool} choice={asked} onClose={() => ask(undefined)} />}
    </div>
  );
}

const TITLES: Readonly<Record<ToolChoice, (title: string) => string>> = {
  always: (title) => `Run “${title}” without asking?`,
  ask: (title) => `Ask before each call of “${title}”?`,
  never: (title) => `Never run “${title}”?`,
};

function ChoiceDialog({ tool, choice, onClose }: { tool: Tool; choice: ToolChoice; onClose: () => void }) {
  const me = useMe();
  const [days, setDays] = useState('');
  const [untilChanged, setUntilChanged] = useState(true);
  const { decision } = CHOICES[choice];
  const preview = useQuery({
    queryKey: ['approval-preview', tool.name, decision],
    queryFn: () => previewRule({ tools: [tool.name], decision }),
    staleTime: 0,
  });
  const limit = daysOf(days);
  const isAlways = choice === 'always';
  const save = useMutation({
    mutationFn: (body: ChoiceRequest) => putChoice(tool.name, body),
    onSuccess: async () => {
      await refetchChoices();
      toast(`${tool.title}: ${CHOICES[choice].badge}.`);
      onClose();
    },
  });
  return (
    <Dialog title={TITLES[choice](tool.title)} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isAlways && limit === null) return;
          save.mutate(isAlways ? { choice, untilChanged, ...(limit != null && { days: limit }) } : { choice });
        }}
      >
        {save.error && <ErrorBox error={save.error} />}
        <p role="status">
          {preview.isPending && 'Comparing with recent calls …'}
          {preview.error && 'The comparison with recent calls is not available.'}
          {preview.data && previewText(preview.data, decision, me.operates)}
        </p>
        {isAlways && (
          <>
            <Field label="Ask again after days" hint="Empty: no time limit" error={limit === null ? `Enter 1 to ${MAX_DAYS}.` : undefined}>
              <Input inputMode="numeric" value={days} onChange={setDays} maxLength={4} />
            </Field>
            <Check label="Ask again when the definition changes" checked={untilChanged} onChange={setUntilChanged} />
            <p className="hint">If the operator requires a question for this tool, you are still asked.</p>
          </>
        )}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={save.isPending || preview.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
