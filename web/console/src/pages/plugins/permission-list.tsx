import { Clock, Database, Globe } from 'lucide-react';
import { inWords, isEmpty, type Permissions } from '../../plugins/trust/permissions';

/** What a plugin may do or asks for, in words. */
export function PermissionList({ permissions, none }: { permissions: Permissions; none: string }) {
  if (isEmpty(permissions)) return <p className="muted">{none}</p>;
  return (
    <ul className="permission-list plain-list">
      {inWords(permissions).map((words) => (
        <li key={words}>
          {words.startsWith('Send') ? (
            <Globe size={16} aria-hidden />
          ) : words.startsWith('Keep') ? (
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
