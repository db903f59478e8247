import { Plus, Trash2 } from 'lucide-react';
import { useRef } from 'react';
import { Button, IconButton } from '../../../ui/button';
import { Check, Field, Input, Select, TextArea } from '../../../ui/form';
import { besides, newRow, TYPES, type Row, type RowProblem, type RowType } from './parameters';

interface Props {
  rows: Row[];
  problems: readonly RowProblem[];
  onChange: (rows: Row[]) => void;
}

export function ParameterRows({ rows, problems, onChange }: Props) {
  const list = useRef<HTMLOListElement>(null);
  function add() {
    onChange([...rows, newRow()]);
    requestAnimationFrame(() => list.current?.querySelector<HTMLInputElement>('li:last-child input')?.focus());
  }
  return (
    <>
      {rows.length === 0 && <p className="muted">This tool takes no parameters.</p>}
      <ol className="plain-list parameters" ref={list}>
        {rows.map((row) => (
          <li key={row.key}>
            <ParameterRow
              row={row}
              problems={problems.filter(({ key }) => key === row.key)}
              onChange={(next) => onChange(rows.map((one) => (one.key === row.key ? next : one)))}
              onRemove={() => onChange(rows.filter((one) => one.key !== row.key))}
            />
          </li>
        ))}
      </ol>
      <Button icon={<Plus size={16} aria-hidden />} onClick={add}>
        Add a parameter
      </Button>
    </>
  );
}

interface RowProps {
  row: Row;
  problems: readonly RowProblem[];
  onChange: (row: Row) => void;
  onRemove: () => void;
}

function ParameterRow({ row, problems, onChange, onRemove }: RowProps) {
  const set = <K extends keyof Row>(name: K) => (value: Row[K]) => onChange({ ...row, [name]: value });
  const wrong = (field: RowProblem['field']) => problems.find((one) => one.field === field)?.message;
  const also = besides(row);
  return (
    <fieldset className="parameter">
      <legend className="hidden">Parameter {row.name || 'without a name'}</legend>
      <div className="parameter-first">
        <Field label="Name" error={wrong('name')}>
          <Input value={row.name} onChange={set('name')} autoComplete="off" autoCapitalize="off" spellCheck={false} />
        </Field>
        <Field label="Type">
          <Select value={row.type} onChange={(type) => set('type')(type as RowType)} options={TYPES} />
        </Field>
        <Check label="Required" checked={row.required} onChange={set('required')} />
        <IconButton label={`Remove parameter ${row.name}`} onClick={onRemove}>
          <Trash2 size={17} aria-hidden />
        </IconButton>
      </div>
      <div className={row.type === 'boolean' ? '' : 'parameter-second'}>
        <Field label="Description" hint="For the model">
          <Input value={row.description} onChange={set('description')} />
        </Field>
        {row.type !== 'boolean' && (
          <Field label="Only these values" hint="One a line; empty: any" error={wrong('choices')}>
            <TextArea value={row.choices} onChange={set('choices')} rows={Math.min(6, Math.max(1, row.choices.split('\n').length))} />
          </Field>
        )}
      </div>
      {also.length > 0 && (
        <p className="hint">
          Also: <code>{also.join(', ')}</code>. To change it, use the JSON Schema.
        </p>
      )}
    </fieldset>
  );
}
