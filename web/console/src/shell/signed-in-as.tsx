/** The account that a decision is for, and the way to another one. */
import { leave } from '../api/sign-out';
import { toastError } from '../ui/toast';

export function SignedInAs({ user }: { user: string }) {
  return (
    <>
      You are signed in as <strong className="anywhere">{user}</strong>.{' '}
      <button type="button" className="text-button" onClick={() => void leave().catch(toastError)}>
        Use another account
      </button>
    </>
  );
}
