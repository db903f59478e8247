/** Key and secret, which are shown only once. */
import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../ui/button';
import { copy } from '../../ui/code';
import { Dialog } from '../../ui/dialog';
import { Notice } from '../../ui/feedback';
import { Field, Input } from '../../ui/form';

export interface ShownSecrets {
  title: string;
  apiKey?: string;
  signingSecret?: string;
}

export function SecretsDialog({ shown, onClose }: { shown: ShownSecrets; onClose: () => void }) {
  return (
    <Dialog title={shown.title} onClose={onClose}>
      <Notice kind="warn">
        <p>
          {shown.apiKey !== undefined && shown.signingSecret !== undefined ? 'They are' : 'It is'} shown only once. Copy{' '}
          {shown.apiKey !== undefined && shown.signingSecret !== undefined ? 'both' : 'it'} to the configuration of your app before you
          close this dialog.
        </p>
      </Notice>
      {shown.apiKey !== undefined && <Secret label="API key" hint="The app authenticates with it" value={shown.apiKey} />}
      {shown.signingSecret !== undefined && (
        <Secret label="Signing secret" hint="The app uses it to verify that a call comes from this server" value={shown.signingSecret} />
      )}
      <div className="dialog-actions">
        <Button kind="primary" onClick={onClose}>
          I have copied {shown.apiKey !== undefined && shown.signingSecret !== undefined ? 'both' : 'it'}
        </Button>
      </div>
    </Dialog>
  );
}

function Secret({ label, hint, value }: { label: string; hint: string; value: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div className="secret">
      <Field label={label} hint={hint}>
        <Input value={value} onChange={() => undefined} readOnly spellCheck={false} onFocus={(event) => event.target.select()} />
      </Field>
      <Button
        icon={copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
        aria-label={copied ? `${label} copied` : `Copy ${label}`}
        onClick={() => void copy(value).then(setCopied)}
      >
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}
