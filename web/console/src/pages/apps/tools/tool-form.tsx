/** One tool: name, description, phrases and parameters. */
import { CopyPlus, Trash2 } from 'lucide-react';
import type { CheckedTools } from '../../../api/console';
import type { Problem } from '../../../api/error';
import { Button } from '../../../ui/button';
import { Field, Input, Select, TextArea } from '../../../ui/form';
import { Card } from '../../../ui/page';
import type { ToolDraft, Hint, YesNo, WrittenDraft } from './draft';
import { InputEditor } from './input-editor';
import { Phrases } from './phrases';
import { Preview } from './preview';

interface Props {
  draft: ToolDraft;
  written: WrittenDraft;
  /** Whether another tool has the same id. */
  isTwice: boolean;
  /** The server's problems with this tool. */
  problems: readonly Problem[];
  place: number;
  seen: CheckedTools['tools'][number] | undefined;
  checkState: 'unsent' | 'waiting' | 'checked' | 'failed';
  onChange: (draft: ToolDraft) => void;
  onRemove: () => void;
  onCopy: () => void;
}

const CATEGORIES = ['productivity', 'media', 'communication', 'utility', 'other'];

const HINT_WORDS: Record<Hint, { label: string; hint: string }> = {
  readOnlyHint: { label: 'Read-only', hint: 'It changes nothing' },
  destructiveHint: { label: 'Destructive', hint: 'If yes, users are asked before it runs, unless they or the operator decided otherwise' },
  idempotentHint: { label: 'Safe to repeat', hint: 'Running it twice has the same effect as once' },
};

export function ToolForm(props: Props) {
  const { draft, written, isTwice, problems, place, onChange } = props;
  const set =
    <K extends keyof ToolDraft>(name: K) =>
    (value: ToolDraft[K]) =>
      onChange({ ...draft, [name]: value });
  const local = (field: string) => written.problems.find((one) => one.field === field)?.message;
  const under = (member: string) => problems.find(({ path }) => path === `tools[${place}].${member}`)?.message;
  const shownElsewhere = /\]\.(name|title|description|inputSchema|mentraExtensions\.activationPhrases|mentraExtensions\.category)\b/;
  const others = problems.filter(({ path }) => !shownElsewhere.test(path ?? ''));
  return (
    <div className="tool-form">
      <Card
        title={draft.name === '' ? 'New tool' : draft.name}
        actions={
          <div className="row">
            <Button small icon={<CopyPlus size={15} aria-hidden />} onClick={props.onCopy}>
              Duplicate
            </Button>
            <Button small kind="danger" icon={<Trash2 size={15} aria-hidden />} onClick={props.onRemove}>
              Remove
            </Button>
          </div>
        }
      >
        {others.length > 0 && (
          <ul className="problems">
            {others.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                <code>{path}</code> {message}
              </li>
            ))}
          </ul>
        )}
        <div className="grid-2">
          <Field
            label="Id"
            hint="For programs, such as add_todo"
            error={isTwice ? 'Another tool has this id.' : (local('name') ?? under('name'))}
          >
            <Input value={draft.name} onChange={set('name')} autoComplete="off" autoCapitalize="off" spellCheck={false} />
          </Field>
          <Field label="Title" hint="For people; optional" error={under('title')}>
            <Input value={draft.title} onChange={set('title')} autoComplete="off" />
          </Field>
        </div>
        <Field label="Description" hint="For the model: what it does, when to use it, what it returns" error={under('description')}>
          <TextArea value={draft.description} onChange={set('description')} rows={3} />
        </Field>
        <Phrases
          phrases={draft.phrases}
          byLanguage={draft.byLanguage}
          error={local('phrases') ?? under('mentraExtensions.activationPhrases')}
          onChange={(phrases, byLanguage) => onChange({ ...draft, phrases, byLanguage })}
        />
        <div className="grid-4">
          <Field label="Category" error={under('mentraExtensions.category')}>
            <Select
              value={draft.category}
              onChange={set('category')}
              options={[
                { value: '', label: 'Not specified' },
                ...[...new Set([...CATEGORIES, draft.category])]
                  .filter(Boolean)
                  .map((value) => ({ value, label: value[0]?.toUpperCase() + value.slice(1) })),
              ]}
            />
          </Field>
          {(Object.keys(HINT_WORDS) as Hint[]).map((hint) => (
            <Field key={hint} label={HINT_WORDS[hint].label} hint={HINT_WORDS[hint].hint}>
              <Select
                value={draft.hints[hint]}
                onChange={(answer) => set('hints')({ ...draft.hints, [hint]: answer as YesNo })}
                options={[
                  { value: '', label: 'Not specified' },
                  { value: 'yes', label: 'Yes' },
                  { value: 'no', label: 'No' },
                ]}
              />
            </Field>
          ))}
        </div>
      </Card>
      <InputEditor draft={draft} written={written} problems={problems} place={place} onChange={onChange} />
      <Preview seen={props.seen} state={props.checkState} />
    </div>
  );
}
