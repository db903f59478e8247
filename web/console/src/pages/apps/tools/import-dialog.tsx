/** Imports tools from a file: a tpa_config.json (app_config.json), the list of an older console, or MCP definitions. */
import { useId, useMemo, useState } from 'react';
import { Button } from '../../../ui/button';
import { CodeArea } from '../../../ui/code-area';
import { Dialog } from '../../../ui/dialog';
import { Notice } from '../../../ui/feedback';
import { Field, Select } from '../../../ui/form';
import { bytes } from '../../../ui/time';
import { countLabel, joinList } from '../../../ui/labels';
import { FORMAT_LABELS, LARGEST_FILE, readToolFile } from './import';
import type { Json } from './json';

interface Props {
  existing: readonly string[];
  onTake: (tools: Json[], replaceAll: boolean) => void;
  onClose: () => void;
}

export function ImportDialog({ existing, onTake, onClose }: Props) {
  const id = useId();
  const [text, setText] = useState('');
  const [tooLarge, setTooLarge] = useState<string>();
  const [how, setHow] = useState('add');
  const read = useMemo(() => (text.trim() === '' ? undefined : readToolFile(text)), [text]);
  async function open(file: File | undefined) {
    if (file === undefined) return;
    if (file.size > LARGEST_FILE) return setTooLarge(`${file.name} has ${bytes(file.size)}; the limit is ${bytes(LARGEST_FILE)}.`);
    setTooLarge(undefined);
    setText(await file.text());
  }
  const file = read !== undefined && 'file' in read ? read.file : undefined;
  return (
    <Dialog title="Import tools" onClose={onClose} wide>
      <p>
        A <code>tpa_config.json</code> or <code>app_config.json</code>, the tool list of an older console, or a list of MCP definitions.
      </p>
      <div className="field">
        <label htmlFor={`${id}-file`}>File</label>
        <input
          id={`${id}-file`}
          className="file"
          type="file"
          accept=".json,application/json"
          onChange={(event) => void open(event.target.files?.[0])}
        />
        {tooLarge !== undefined && (
          <p className="error-text" role="alert">
            {tooLarge}
          </p>
        )}
      </div>
      <Field label="Or paste it">
        <CodeArea value={text} onChange={setText} rows={10} />
      </Field>
      <div aria-live="polite">
        {read !== undefined && 'problems' in read && (
          <Notice kind="bad">
            <p>The tools could not be imported:</p>
            <ul>
              {read.problems.slice(0, 12).map(({ path, message }) => (
                <li key={`${path} ${message}`}>
                  {path !== undefined && <code>{path}</code>} {message}
                </li>
              ))}
            </ul>
            {read.problems.length > 12 && <p>and {read.problems.length - 12} more</p>}
          </Notice>
        )}
        {file !== undefined && <WhatWasRead file={file} existing={existing} />}
      </div>
      {existing.length > 0 && (
        <Field label="Existing tools">
          <Select
            value={how}
            onChange={setHow}
            options={[
              { value: 'add', label: 'Keep; replace those with the same id' },
              { value: 'replace', label: 'Replace all' },
            ]}
          />
        </Field>
      )}
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="primary"
          disabled={file === undefined || file.tools.length === 0}
          onClick={() => onTake(file?.tools ?? [], how === 'replace')}
        >
          {file === undefined ? 'Import' : `Import ${countLabel(file.tools.length, 'tool')}`}
        </Button>
      </div>
    </Dialog>
  );
}

function WhatWasRead({
  file,
  existing,
}: {
  file: { form: keyof typeof FORMAT_LABELS; tools: Json[]; leftOut: string[] };
  existing: readonly string[];
}) {
  const names = file.tools.map(({ name }) => String(name));
  const again = names.filter((name) => existing.includes(name));
  const some = (list: readonly string[]) => (list.length > 20 ? [...list.slice(0, 20), `${list.length - 20} more`] : list);
  return (
    <Notice kind="good">
      <p>
        This is {FORMAT_LABELS[file.form]} with {countLabel(file.tools.length, 'tool')}
        {names.length > 0 && `: ${joinList(some(names))}`}.
      </p>
      {again.length > 0 && <p>Already exist: {joinList(some(again))}.</p>}
      {file.leftOut.length > 0 && <p>Not imported: {joinList(some(file.leftOut))}. Edit the app itself under Details.</p>}
    </Notice>
  );
}
