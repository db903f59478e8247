/** A dialog of the browser: focus stays in it, Escape closes it, and afterwards the focus is at a place that makes sense. */
import { X } from 'lucide-react';
import { useId, useLayoutEffect, useRef, type ReactNode } from 'react';
import { Button, IconButton } from './button';
import { rememberFocus } from './give-focus-back';

interface Props {
  title: string;
  /** Without it there is no way out but what the dialog itself offers. */
  onClose?: () => void;
  children: ReactNode;
  wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is taken out of the page: only then the browser gives the focus back to where it was.
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
        // Browsers close at the second Escape, whatever was said to the first.
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
