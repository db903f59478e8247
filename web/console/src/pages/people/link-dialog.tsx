import type { ReactNode } from 'react';
import type { SignInLink } from '../../api/accounts';
import { Button } from '../../ui/button';
import { Code } from '../../ui/code';
import { Dialog } from '../../ui/dialog';
import { Notice } from '../../ui/feedback';
import { Ago } from '../../ui/time';

interface Props {
  title: string;
  user: string;
  link: SignInLink;
  onClose: () => void;
  children?: ReactNode;
}

/** Shows a sign-in link once. */
export function LinkDialog({ title, user, link, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <Notice kind="warn">
        Copy this link now and send it to {user} in a private message. It is shown only once. Anyone who has it can sign in as {user}.
      </Notice>
      <Code value={link.url} label="Sign-in link" />
      <p className="muted">
        It works once and expires <Ago at={link.expiresAt} />.
      </p>
      <div className="dialog-actions">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
