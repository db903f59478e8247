/** Adds a plugin from a file, or pasted. */
import { useState } from 'react';
import { bytes } from '../../ui/time';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Field, TextArea } from '../../ui/form';
import { MAX_MANIFEST_BYTES } from '../../plugins/trust/manifest';

export function AddDialog({ onText, onClose }: { onText: (text: string) => void; onClose: () => void }) {
  const [text, setText] = useState('');
  const [error, setError] = useState<string>();
  async function open(file: File | undefined) {
    if (file === undefined) return;
    if (file.size > MAX_MANIFEST_BYTES)
      return setError(`The file has ${bytes(file.size)}; a plugin can have at most ${bytes(MAX_MANIFEST_BYTES)}.`);
    try {
      onText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer()));
    } catch {
      setError('The file is not UTF-8 text.');
    }
  }
  return (
    <Dialog title="Add a plugin" onClose={onClose}>
      <div className={error === undefined ? 'field' : 'field wrong'}>
        <label htmlFor="plugin-file">File</label>
        <input
          id="plugin-file"
          className="input file-input"
          type="file"
          accept="application/json,.json"
          aria-describedby="plugin-file-hint"
          onChange={(event) => void open(event.target.files?.[0])}
        />
        <p className="hint" id="plugin-file-hint">
          A plugin is one JSON file. You can review its permissions before you install it.
        </p>
        {error !== undefined && (
          <p className="error-text" role="alert">
            {error}
          </p>
        )}
      </div>
      <Field label="Or paste it">
        <TextArea code rows={8} value={text} onChange={setText} placeholder='{ "schemaVersion": 1, "id": …' />
      </Field>
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={text.trim() === ''} onClick={() => onText(text)}>
          Review
        </Button>
      </div>
    </Dialog>
  );
}
