/** Form fields: label, hint and error are connected to the input for screen readers. */
import {
  createContext,
  useContext,
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';

interface Belongs {
  id: string;
  describedBy: string | undefined;
  invalid: boolean;
}

const FieldContext = createContext<Belongs | null>(null);

interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  children: ReactNode;
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const described = [hint !== undefined ? `${id}-hint` : '', error !== undefined ? `${id}-error` : ''].filter(Boolean).join(' ');
  return (
    <div className={error === undefined ? 'field' : 'field wrong'}>
      <label htmlFor={id}>{label}</label>
      <FieldContext value={{ id, describedBy: described || undefined, invalid: error !== undefined }}>{children}</FieldContext>
      {hint !== undefined && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p className="error-text" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

function useBelongs() {
  const field = useContext(FieldContext);
  return field === null ? {} : { id: field.id, 'aria-describedby': field.describedBy, 'aria-invalid': field.invalid || undefined };
}

type Without<T> = Omit<T, 'onChange' | 'value' | 'className'>;

interface InputProps extends Without<InputHTMLAttributes<HTMLInputElement>> {
  value: string;
  onChange: (value: string) => void;
}

export function Input({ value, onChange, ...rest }: InputProps) {
  return <input className="input" value={value} onChange={(event) => onChange(event.target.value)} {...useBelongs()} {...rest} />;
}

interface AreaProps extends Without<TextareaHTMLAttributes<HTMLTextAreaElement>> {
  value: string;
  onChange: (value: string) => void;
  code?: boolean;
}

export function TextArea({ value, onChange, code = false, ...rest }: AreaProps) {
  return (
    <textarea
      className={code ? 'input code' : 'input'}
      spellCheck={!code}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      {...useBelongs()}
      {...rest}
    />
  );
}

interface SelectProps extends Without<SelectHTMLAttributes<HTMLSelectElement>> {
  value: string;
  onChange: (value: string) => void;
  options: readonly { value: string; label: string }[];
}

export function Select({ value, onChange, options, ...rest }: SelectProps) {
  return (
    <select className="input" value={value} onChange={(event) => onChange(event.target.value)} {...useBelongs()} {...rest}>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

interface SwitchProps {
  /** What is switched, for screen readers. It must not contain the state, which is read aloud as well. */
  label: string;
  /** Which item it belongs to, for screen readers. */
  of?: string;
  on: boolean;
  onChange: (on: boolean) => void;
  disabled?: boolean;
  /** Whether the label is visible. */
  shown?: boolean;
}

export function Switch({ label, of, on, onChange, disabled = false, shown = false }: SwitchProps) {
  const name = of === undefined ? label : `${label}: ${of}`;
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        aria-label={name}
        checked={on}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="track" aria-hidden />
      {shown && <span className="switch-label">{label}</span>}
    </label>
  );
}

interface CheckProps {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}

export function Check({ label, checked, onChange, disabled = false }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  );
}

/** Focuses the first invalid field. */
export function focusWrong(form: HTMLElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>('[aria-invalid], [data-invalid]')?.focus());
}
