import { Clock, Database, Globe } from 'lucide-react';
import { describePermissions, isEmpty, type Permissions } from '../../plugins/trust/permissions';

/** The permissions of a plugin as text. */
export function PermissionList({ permissions, none }: { permissions: Permissions; none: string }) {
  if (isEmpty(permissions)) return <p className="muted">{none}</p>;
  return (
    <ul className="permission-list plain-list">
      {describePermissions(permissions).map((words) => (
        <li key={words}>
          {words.startsWith('Send') ? (
            <Globe size={16} aria-hidden />
          ) : words.startsWith('Store') ? (
            <Database size={16} aria-hidden />
          ) : (
            <Clock size={16} aria-hidden />
          )}
          {words}
        </li>
      ))}
    </ul>
  );
}
