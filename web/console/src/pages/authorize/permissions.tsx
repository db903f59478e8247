/** What the client may do. Each permission can be switched off. */
import { useId } from 'react';
import type { ConsentInfo } from '../../api/clients';
import { identityScopes, offeredScopes, toggleScope } from '../../clients/consent';
import { identityText, scopeText, type ScopeText } from '../../clients/scopes';

interface Props {
  info: ConsentInfo;
  selected: ReadonlySet<string>;
  onChange: (selected: ReadonlySet<string>) => void;
}

export function Permissions({ info, selected, onChange }: Props) {
  const identity = identityScopes(info);
  const flipIdentity = (on: boolean) => onChange(identity.reduce((all, scope) => toggleScope(all, scope, on), selected));
  return (
    <fieldset className="card">
      <legend>What it may do</legend>
      {offeredScopes(info).map((scope) => (
        <Permission
          key={scope}
          text={scopeText(scope)}
          checked={selected.has(scope)}
          onChange={(on) => onChange(toggleScope(selected, scope, on))}
        />
      ))}
      {identity.length > 0 && (
        <Permission text={identityText(identity)} checked={identity.some((scope) => selected.has(scope))} onChange={flipIdentity} />
      )}
    </fieldset>
  );
}

interface PermissionProps {
  text: ScopeText;
  checked: boolean;
  onChange: (on: boolean) => void;
}

function Permission({ text: { title, explanation, warning }, checked, onChange }: PermissionProps) {
  const id = useId();
  return (
    <div className="permission">
      <input
        type="checkbox"
        id={id}
        aria-describedby={`${id}-text`}
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id}>{title}</label>
      <p id={`${id}-text`} className="flat">
        <span className="muted">{explanation}</span>
        {checked && warning !== undefined && <span className="permission-warning"> {warning}</span>}
      </p>
    </div>
  );
}
