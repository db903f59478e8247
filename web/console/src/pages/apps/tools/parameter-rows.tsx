/** The parameters of a tool as rows; objects contain their members. */
import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react';
import { useRef } from 'react';
import { Button, IconButton } from '../../../ui/button';
import { Check, Field, Input, Select, TextArea } from '../../../ui/form';
import {
  describeExtras,
  hasChoices,
  hasMembers,
  hasPreset,
  moveRow,
  newRow,
  TYPES,
  type Row,
  type RowProblem,
  type RowType,
} from './parameters';

interface Props {
  rows: Row[];
  problems: readonly RowProblem[];
  onChange: (rows: Row[]) => void;
  /** The object that these members belong to; none for the parameters themselves. */
  of?: string;
}

export function ParameterRows({ rows, problems, onChange, of }: Props) {
  const list = useRef<HTMLOListElement>(null);
  function add() {
    onChange([...rows, newRow()]);
    requestAnimationFrame(() => list.current?.querySelector<HTMLInputElement>(':scope > li:last-child input')?.focus());
  }
  return (
    <>
      {rows.length === 0 && (
        <p className="muted">{of === undefined ? 'This tool takes no parameters.' : 'No members yet: any are allowed.'}</p>
      )}
      <ol className="plain-list parameters" ref={list}>
        {rows.map((row, place) => (
          <li key={row.key}>
            <ParameterRow
              row={row}
              of={of}
              problems={problems}
              onChange={(next) => onChange(rows.map((one) => (one.key === row.key ? next : one)))}
              onRemove={() => onChange(rows.filter((one) => one.key !== row.key))}
              {...(place > 0 && { onUp: () => onChange(moveRow(rows, place, place - 1)) })}
              {...(place < rows.length - 1 && { onDown: () => onChange(moveRow(rows, place, place + 1)) })}
            />
          </li>
        ))}
      </ol>
      <Button icon={<Plus size={16} aria-hidden />} small={of !== undefined} onClick={add}>
        {of === undefined ? 'Add a parameter' : `Add a member to ${of || 'this object'}`}
      </Button>
    </>
  );
}

interface RowProps {
  row: Row;
  of: string | undefined;
  problems: readonly RowProblem[];
  onChange: (row: Row) => void;
  onRemove: () => void;
  onUp?: () => void;
  onDown?: () => void;
}

function ParameterRow({ row, of, problems, onChange, onRemove, onUp, onDown }: RowProps) {
  const set =
    <K extends keyof Row>(name: K) =>
    (value: Row[K]) =>
      onChange({ ...row, [name]: value });
  const wrong = (field: RowProblem['field']) => problems.find((one) => one.key === row.key && one.field === field)?.message;
  const also = describeExtras(row);
  const what = of === undefined ? 'parameter' : 'member';
  return (
    <fieldset className="parameter">
      <legend className="hidden">
        {of === undefined ? 'Parameter' : `Member of ${of}:`} {row.name || 'without a name'}
      </legend>
      <div className="parameter-first">
        <Field label="Name" error={wrong('name')}>
          <Input value={row.name} onChange={set('name')} autoComplete="off" autoCapitalize="off" spellCheck={false} />
        </Field>
        <Field label="Type">
          <Select value={row.type} onChange={(type) => set('type')(type as RowType)} options={TYPES} />
        </Field>
        <Check label="Required" checked={row.required} onChange={set('required')} />
        <div className="parameter-actions">
          <IconButton label={`Move ${what} ${row.name} up`} disabled={onUp === undefined} onClick={onUp}>
            <ArrowUp size={17} aria-hidden />
          </IconButton>
          <IconButton label={`Move ${what} ${row.name} down`} disabled={onDown === undefined} onClick={onDown}>
            <ArrowDown size={17} aria-hidden />
          </IconButton>
          <IconButton label={`Remove ${what} ${row.name}`} onClick={onRemove}>
            <Trash2 size={17} aria-hidden />
          </IconButton>
        </div>
      </div>
      <div className={hasChoices(row.type) ? 'parameter-second' : ''}>
        <Field label="Description" hint="For the model">
          <Input value={row.description} onChange={set('description')} />
        </Field>
        {hasChoices(row.type) && (
          <Field label="Only these values" hint="One per line; empty: any" error={wrong('choices')}>
            <TextArea value={row.choices} onChange={set('choices')} rows={Math.min(6, Math.max(1, row.choices.split('\n').length))} />
          </Field>
        )}
      </div>
      {hasPreset(row.type) && <Preset row={row} error={wrong('preset')} onChange={set('preset')} />}
      {hasMembers(row.type) && (
        <div className="members">
          <ParameterRows rows={row.rows} problems={problems} of={row.name} onChange={set('rows')} />
        </div>
      )}
      {also.length > 0 && (
        <p className="hint">
          Also: <code>{also.join(', ')}</code>. Edit the JSON Schema to change it.
        </p>
      )}
    </fieldset>
  );
}

function Preset({ row, error, onChange }: { row: Row; error: string | undefined; onChange: (preset: string) => void }) {
  return (
    <Field label="Default" hint="Empty: none" error={error}>
      {row.type === 'boolean' ? (
        <Select
          value={row.preset}
          onChange={onChange}
          options={[
            { value: '', label: 'None' },
            { value: 'true', label: 'Yes' },
            { value: 'false', label: 'No' },
          ]}
        />
      ) : (
        <Input value={row.preset} onChange={onChange} autoComplete="off" />
      )}
    </Field>
  );
}
