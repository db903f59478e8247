/** The changes of an update that require the user's consent. The same as `trust::compare`. */
import type { Manifest } from './manifest';
import { addedPermissions, isEmpty, type Permissions } from './permissions';
import { compareVersions, parseVersion } from './semver';

export interface Change {
  asksForMore: Permissions;
  downgrade: boolean;
  publisherChanged: boolean;
  signerChanged: boolean;
  toolsAdded: string[];
  toolsRemoved: string[];
}

/** Does not say whether the new one is trusted. */
export function compare(old: Manifest, next: Manifest): Change {
  return {
    asksForMore: addedPermissions(next.permissions, old.permissions),
    downgrade: isLower(next.version, old.version),
    publisherChanged: old.publisher !== next.publisher,
    signerChanged: signer(old) !== signer(next),
    toolsAdded: missingIn(old, next),
    toolsRemoved: missingIn(next, old),
  };
}

export function asksAgain(change: Change): boolean {
  return change.downgrade || change.publisherChanged || change.signerChanged || !isEmpty(change.asksForMore);
}

function missingIn(there: Manifest, here: Manifest): string[] {
  const known = new Set(there.tools.map(({ name }) => name));
  return here.tools.map(({ name }) => name).filter((name) => !known.has(name));
}

const signer = ({ signature }: Manifest) => (signature === null ? null : `${signature.alg} ${signature.key ?? ''}`);

/** Different versions that cannot be compared count as lower, to be safe. */
function isLower(next: string, old: string): boolean {
  const [a, b] = [parseVersion(next), parseVersion(old)];
  return a === null || b === null ? next !== old : compareVersions(a, b) < 0;
}
