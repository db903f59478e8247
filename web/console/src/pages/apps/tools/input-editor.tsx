/** The parameters of a tool as a form, or as JSON Schema text: two views of the same data. */
import { useId, useMemo } from 'react';
import type { Problem } from '../../../api/error';
import { CodeArea } from '../../../ui/code-area';
import { Notice } from '../../../ui/feedback';
import { Field } from '../../../ui/form';
import { parseJson, placeIn } from '../../../ui/json-text';
import { Card } from '../../../ui/page';
import { switchView, formProblem, type ToolDraft, type WrittenDraft } from './draft';
import { ParameterRows } from './parameter-rows';

interface Props {
  draft: ToolDraft;
  written: WrittenDraft;
  problems: readonly Problem[];
  place: number;
  onChange: (draft: ToolDraft) => void;
}

export function InputEditor({ draft, written, problems, place, onChange }: Props) {
  const id = useId();
  const { input } = draft;
  const path = `tools[${place}].inputSchema`;
  const ours = problems
    .filter((one) => one.path?.startsWith(path))
    .map(({ path: at = '', message }) => ({ at: at.slice(path.length), message }));
  const why = useMemo(() => (input.view === 'schema' ? formProblem(draft) : undefined), [draft, input.view]);
  const cannotLeave = input.view === 'form' ? written.rows[0]?.message : why;
  return (
    <Card
      title="Parameters"
      actions={
        <div className="segments" role="group" aria-label="How to edit the parameters">
          {(['form', 'schema'] as const).map((view) => (
            <button
              key={view}
              type="button"
              aria-pressed={input.view === view}
              disabled={input.view !== view && cannotLeave !== undefined}
              aria-describedby={input.view !== view && cannotLeave !== undefined ? `${id}-why` : undefined}
              onClick={() => onChange(switchView(draft, view).draft)}
            >
              {view === 'form' ? 'Form' : 'JSON Schema'}
            </button>
          ))}
        </div>
      }
    >
      {input.view === 'form' ? (
        <>
          <ParameterRows rows={input.rows} problems={written.rows} onChange={(rows) => onChange({ ...draft, input: { ...input, rows } })} />
          {ours.length > 0 && <Problems ours={ours} />}
        </>
      ) : (
        <>
          {why !== undefined && written.problems.every(({ field }) => field !== 'inputSchema') && (
            <Notice>
              <p id={`${id}-why`}>{why} You can edit the schema here.</p>
            </Notice>
          )}
          <SchemaText
            text={input.text}
            written={written}
            ours={ours}
            onChange={(text) => onChange({ ...draft, input: { view: 'schema', text } })}
          />
        </>
      )}
    </Card>
  );
}

interface Ours {
  at: string;
  message: string;
}

function Problems({ ours }: { ours: readonly Ours[] }) {
  return (
    <ul className="problems" role="alert">
      {ours.map(({ at, message }) => (
        <li key={`${at} ${message}`}>
          {at !== '' && <code>{at.replace(/^\./, '')}</code>} {message}
        </li>
      ))}
    </ul>
  );
}

function SchemaText({
  text,
  written,
  ours,
  onChange,
}: {
  text: string;
  written: WrittenDraft;
  ours: readonly Ours[];
  onChange: (text: string) => void;
}) {
  const local = written.problems.find(({ field }) => field === 'inputSchema');
  const parsed = useMemo(() => parseJson(text), [text]);
  const first = ours[0];
  const line = local?.line ?? (first !== undefined && parsed.ok ? placeIn(parsed.places, first.at)?.line : undefined);
  const serverError =
    first === undefined
      ? undefined
      : `${line === undefined ? '' : `Line ${line}: `}${first.at === '' ? '' : `${first.at.replace(/^\./, '')}: `}${first.message}`;
  return (
    <Field label="JSON Schema of the arguments" hint='Its root has "type": "object"; draft 2020-12' error={local?.message ?? serverError}>
      <CodeArea value={text} onChange={onChange} wrongLine={line} />
    </Field>
  );
}
