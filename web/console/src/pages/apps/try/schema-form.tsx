/** The fields of a schema, one below the other; groups and lists inside each other. */
import { Plus, X } from 'lucide-react';
import { Button, IconButton } from '../../../ui/button';
import { Field as Labelled, Input, Select, TextArea } from '../../../ui/form';
import { blank, mayAdd, type Field, type Typed, type Wrong } from './fields';

interface Props {
  field: Field;
  typed: Typed;
  path: string;
  wrong: readonly Wrong[];
  onChange: (typed: Typed) => void;
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
  const none = { value: '', label: field.required ? 'Choose …' : 'Not given' };
  switch (field.kind) {
    case 'choice':
      return <Select value={text} onChange={onChange} options={[none, ...field.choices.map((choice, place) => ({ value: String(place), label: typeof choice === 'string' ? choice : JSON.stringify(choice) }))]} />;
    case 'boolean':
      return <Select value={text} onChange={onChange} options={[none, { value: 'true', label: 'Yes' }, { value: 'false', label: 'No' }]} />;
    case 'number':
      return <Input value={text} onChange={onChange} inputMode={field.whole ? 'numeric' : 'decimal'} autoComplete="off" />;
    case 'text':
      return field.long ? <TextArea value={text} onChange={onChange} rows={4} /> : <Input type={field.input} value={text} onChange={onChange} autoComplete="off" />;
    default:
      return <TextArea code value={text} onChange={onChange} rows={4} placeholder="JSON" />;
  }
}

function ListField({ field, label, typed, path, wrong, onChange }: Props & { field: Field & { kind: 'list' }; label: string }) {
  const items = Array.isArray(typed) ? typed : [];
  return (
    <fieldset className="try-group">
      <legend>{label}</legend>
      {field.hint !== '' && <p className="hint">{field.hint}</p>}
      <ol className="plain-list">
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
            <IconButton label={`Remove ${field.label} ${place + 1}`} onClick={() => onChange(items.filter((_, at) => at !== place))}>
              <X size={16} aria-hidden />
            </IconButton>
          </li>
        ))}
      </ol>
      <Button small icon={<Plus size={15} aria-hidden />} disabled={!mayAdd(items)} onClick={() => onChange([...items, blank(field.item)])}>
        Add to {field.label}
      </Button>
    </fieldset>
  );
}
