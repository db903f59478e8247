/** The fields of a schema; groups and lists can be nested. */
import { ArrowDown, ArrowUp, Plus, X } from 'lucide-react';
import { useRef } from 'react';
import { Button, IconButton } from '../../../ui/button';
import { Field as Labelled, Input, Select, TextArea } from '../../../ui/form';
import { moveRow } from '../tools/parameters';
import { emptyInput, mayAdd, type Field, type FormInput, type FieldProblem } from './fields';

interface Props {
  field: Field;
  typed: FormInput;
  path: string;
  wrong: readonly FieldProblem[];
  onChange: (typed: FormInput) => void;
}

export function SchemaFields({ field, typed, path, wrong, onChange }: Props) {
  if (field.kind !== 'group') return <OneField field={field} typed={typed} path={path} wrong={wrong} onChange={onChange} />;
  const members = typeof typed === 'object' && !Array.isArray(typed) ? typed : {};
  return (
    <>
      {field.fields.map((one) => (
        <OneField
          key={one.name}
          field={one}
          typed={members[one.name]}
          path={path === '' ? one.name : `${path}.${one.name}`}
          wrong={wrong}
          onChange={(next) => onChange({ ...members, [one.name]: next })}
        />
      ))}
    </>
  );
}

function OneField({ field, typed, path, wrong, onChange }: Props) {
  const label = `${field.label}${field.required ? '' : ' (optional)'}`;
  if (field.kind === 'group') {
    return (
      <fieldset className="try-group">
        <legend>{label}</legend>
        {field.hint !== '' && <p className="hint">{field.hint}</p>}
        <SchemaFields field={field} typed={typed} path={path} wrong={wrong} onChange={onChange} />
        <Wrongness message={wrong.find((one) => one.path === path)?.message} />
      </fieldset>
    );
  }
  if (field.kind === 'list') return <ListField field={field} label={label} typed={typed} path={path} wrong={wrong} onChange={onChange} />;
  const text = typeof typed === 'string' ? typed : '';
  return (
    <Labelled label={label} {...(field.hint !== '' && { hint: field.hint })} error={wrong.find((one) => one.path === path)?.message}>
      <Simple field={field} text={text} onChange={onChange} />
    </Labelled>
  );
}

function Simple({ field, text, onChange }: { field: Field; text: string; onChange: (text: string) => void }) {
  const none = { value: '', label: field.required ? 'Choose …' : 'Not set' };
  switch (field.kind) {
    case 'choice':
      return (
        <Select
          value={text}
          onChange={onChange}
          options={[
            none,
            ...field.choices.map((choice, place) => ({
              value: String(place),
              label: typeof choice === 'string' ? choice : JSON.stringify(choice),
            })),
          ]}
        />
      );
    case 'boolean':
      return <Select value={text} onChange={onChange} options={[none, { value: 'true', label: 'Yes' }, { value: 'false', label: 'No' }]} />;
    case 'number':
      return <Input value={text} onChange={onChange} inputMode={field.whole ? 'numeric' : 'decimal'} autoComplete="off" />;
    case 'text':
      return field.long ? (
        <TextArea value={text} onChange={onChange} rows={4} />
      ) : (
        <Input type={field.input} value={text} onChange={onChange} autoComplete="off" />
      );
    default:
      return <TextArea code value={text} onChange={onChange} rows={4} placeholder="JSON" />;
  }
}

function ListField({ field, label, typed, path, wrong, onChange }: Props & { field: Field & { kind: 'list' }; label: string }) {
  const items = Array.isArray(typed) ? typed : [];
  const list = useRef<HTMLOListElement>(null);
  const add = () => {
    onChange([...items, emptyInput(field.item)]);
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(':scope > li:last-child :is(input, select, textarea)')?.focus());
  };
  /** The focus moves with the item: to the same button, or to its neighbor at the end of the list. */
  const move = (from: number, to: number) => {
    onChange(moveRow(items, from, to));
    requestAnimationFrame(() => {
      const buttons = list.current?.querySelectorAll<HTMLElement>(
        `:scope > li:nth-child(${to + 1}) > .try-item-actions > button:not(:disabled)`,
      );
      buttons?.[to > from && (buttons.length ?? 0) > 2 ? 1 : 0]?.focus();
    });
  };
  const error = wrong.find((one) => one.path === path)?.message;
  return (
    <fieldset className="try-group">
      <legend>{label}</legend>
      {field.hint !== '' && <p className="hint">{field.hint}</p>}
      <ol className="plain-list" ref={list}>
        {items.map((item, place) => (
          <li key={place} className="try-item">
            <div className="grow">
              <OneField
                field={{ ...field.item, label: `${field.label} ${place + 1}` }}
                typed={item}
                path={`${path}[${place}]`}
                wrong={wrong}
                onChange={(next) => onChange(items.map((one, at) => (at === place ? next : one)))}
              />
            </div>
            <div className="try-item-actions">
              <IconButton label={`Move ${field.label} ${place + 1} up`} disabled={place === 0} onClick={() => move(place, place - 1)}>
                <ArrowUp size={16} aria-hidden />
              </IconButton>
              <IconButton
                label={`Move ${field.label} ${place + 1} down`}
                disabled={place === items.length - 1}
                onClick={() => move(place, place + 1)}
              >
                <ArrowDown size={16} aria-hidden />
              </IconButton>
              <IconButton label={`Remove ${field.label} ${place + 1}`} onClick={() => onChange(items.filter((_, at) => at !== place))}>
                <X size={16} aria-hidden />
              </IconButton>
            </div>
          </li>
        ))}
      </ol>
      <Wrongness message={error} />
      <Button small disabled={!mayAdd(items, field.limits)} icon={<Plus size={15} aria-hidden />} onClick={add}>
        Add to {field.label}
      </Button>
    </fieldset>
  );
}

/** The error of a group or a list as a whole. It can receive the focus, like a field. */
function Wrongness({ message }: { message: string | undefined }) {
  if (message === undefined) return null;
  return (
    <p className="error-text" role="alert" tabIndex={-1} data-invalid>
      {message}
    </p>
  );
}
