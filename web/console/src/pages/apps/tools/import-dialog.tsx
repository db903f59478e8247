/** Tools from a file: a tpa_config.json (app_config.json), the list of an older console, or MCP definitions. */
import { useId, useMemo, useState } from 'react';
import { Button } from '../../../ui/button';
import { CodeArea } from '../../../ui/code-area';
import { Dialog } from '../../../ui/dialog';
import { Notice } from '../../../ui/feedback';
import { Field, Select } from '../../../ui/form';
import { bytes } from '../../../ui/time';
import { counted, listed } from '../../../ui/words';
import { FORM_WORDS, LARGEST_FILE, readToolFile } from './import';
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
    if (file.size > LARGEST_FILE) return setTooLarge(`${file.name} has ${bytes(file.size)}; at most ${bytes(LARGEST_FILE)}.`);
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
            <p>Nothing was read:</p>
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
        <Field label="The tools that are here already">
          <Select
            value={how}
            onChange={setHow}
            options={[
              { value: 'add', label: 'stay; those with the same id are replaced' },
              { value: 'replace', label: 'are all replaced' },
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
          {file === undefined ? 'Import' : `Import ${counted(file.tools.length, 'tool')}`}
        </Button>
      </div>
    </Dialog>
  );
}

function WhatWasRead({
  file,
  existing,
}: {
  file: { form: keyof typeof FORM_WORDS; tools: Json[]; leftOut: string[] };
  existing: readonly string[];
}) {
  const names = file.tools.map(({ name }) => String(name));
  const again = names.filter((name) => existing.includes(name));
  const some = (list: readonly string[]) => (list.length > 20 ? [...list.slice(0, 20), `${list.length - 20} more`] : list);
  return (
    <Notice kind="good">
      <p>
        This is {FORM_WORDS[file.form]} with {counted(file.tools.length, 'tool')}
        {names.length > 0 && `: ${listed(some(names))}`}.
      </p>
      {again.length > 0 && <p>Already here: {listed(some(again))}.</p>}
      {file.leftOut.length > 0 && <p>Not imported: {listed(some(file.leftOut))}. What belongs to the app is under Details.</p>}
    </Notice>
  );
}
