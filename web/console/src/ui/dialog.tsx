/** A native dialog: the focus stays inside, Escape closes it, and afterwards the focus returns to a sensible place. */
import { X } from 'lucide-react';
import { useId, useLayoutEffect, useRef, type ReactNode } from 'react';
import { Button, IconButton } from './button';
import { rememberFocus } from './give-focus-back';

interface Props {
  title: string;
  /** Without it, the dialog can be closed only by its own actions. */
  onClose?: () => void;
  children: ReactNode;
  wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is removed from the page: only then does the browser restore the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    const giveBack = rememberFocus();
    if (!element.open) element.showModal();
    return () => {
      element.close();
      giveBack();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      closedby={onClose === undefined ? 'none' : 'closerequest'}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClose={(event) => {
        // Browsers close at the second Escape, even if the first one was prevented.
        const element = event.currentTarget;
        if (onClose === undefined && element.isConnected && !element.open) element.showModal();
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {onClose !== undefined && (
          <IconButton label="Close" onClick={onClose}>
            <X size={18} aria-hidden />
          </IconButton>
        )}
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What will happen. */
  children: ReactNode;
  action: string;
  danger?: boolean;
  busy?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ title, children, action, danger = false, busy = false, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind={danger ? 'danger' : 'primary'} disabled={busy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
