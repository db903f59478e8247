/** Asks to type a name before something is deleted permanently. */
import { useState, type ReactNode } from 'react';
import { Button } from './button';
import { Dialog } from './dialog';
import { ErrorBox } from './feedback';
import { Field, Input } from './form';

interface Props {
  title: string;
  /** What will happen. */
  children: ReactNode;
  /** What must be typed. */
  expected: string;
  label: string;
  action: string;
  busy: boolean;
  error: unknown;
  onConfirm: (typed: string) => void;
  onClose: () => void;
}

export function ConfirmTyped({ title, children, expected, label, action, busy, error, onConfirm, onClose }: Props) {
  const [typed, setTyped] = useState('');
  const isRight = typed.trim() === expected;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isRight && !busy) onConfirm(expected);
        }}
      >
        {children}
        {error != null && <ErrorBox error={error} />}
        <Field
          label={label}
          hint={
            <>
              Type <strong className="typed-name">{expected}</strong> to confirm.
            </>
          }
        >
          <Input value={typed} onChange={setTyped} autoComplete="off" autoCapitalize="none" spellCheck={false} />
        </Field>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="danger" disabled={!isRight} aria-disabled={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
