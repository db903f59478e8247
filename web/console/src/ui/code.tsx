import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from './button';

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** A text with a copy button; other values are shown as JSON. */
export function Code({ value, label = 'Code' }: { value: unknown; label?: string }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
  const [copied, setCopied] = useState(false);
  return (
    <div className="code-box">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <IconButton label={copied ? 'Copied' : `Copy ${label}`} onClick={() => void copy(text).then(setCopied)}>
        {copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
      </IconButton>
    </div>
  );
}
