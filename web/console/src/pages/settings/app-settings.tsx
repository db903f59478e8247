/** One app's settings as a form. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, data } from '../../api/client';
import { queryClient } from '../../api/queries';
import { Button } from '../../ui/button';
import { ErrorBox, Loading } from '../../ui/feedback';
import { Check, Field, Input, Select, Switch, TextArea } from '../../ui/form';
import { toast } from '../../ui/toast';
import { readSettings, said, shown, type Setting, type Words } from './setting-values';

export function AppSettings({ app, name }: { app: string; name: string }) {
  const settings = useQuery({
    queryKey: ['settings', 'app', app],
    queryFn: ({ signal }) => data(api.GET('/api/settings/apps/{package}', { params: { path: { package: app } }, signal })),
  });
  return (
    <div className="app-settings">
      {settings.isPending && <Loading what="its settings" />}
      {settings.error && <ErrorBox error={settings.error} onRetry={() => void settings.refetch()} />}
      {settings.data?.settings.length === 0 && <p className="muted flat">{name} has nothing to set.</p>}
      {settings.data && settings.data.settings.length > 0 && <SettingsForm key={JSON.stringify(settings.data)} app={app} name={name} settings={readSettings(settings.data.settings)} />}
    </div>
  );
}

const isSetting = (one: Setting | Words): one is Setting => 'key' in one;

function SettingsForm({ app, name, settings }: { app: string; name: string; settings: readonly (Setting | Words)[] }) {
  const known = settings.filter(isSetting);
  const [fields, setFields] = useState(() => new Map(known.map((one) => [one.key, shown(one)])));
  const [wrong, setWrong] = useState<Map<string, string>>(new Map());
  const save = useMutation({
    mutationFn: (values: Record<string, unknown>) => data(api.PUT('/api/settings/apps/{package}', { params: { path: { package: app } }, body: values })),
    onSuccess: (now) => {
      toast(`The settings of ${name} are saved.`);
      queryClient.setQueryData(['settings', 'app', app], now);
    },
  });
  function submit() {
    const errors = new Map<string, string>();
    const values: Record<string, unknown> = {};
    for (const setting of known) {
      const read = said(setting, fields.get(setting.key) ?? '');
      if ('error' in read) errors.set(setting.key, read.error);
      else if (read.value !== undefined) values[setting.key] = read.value;
    }
    setWrong(errors);
    if (errors.size === 0) save.mutate(values);
  }
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {save.error && <ErrorBox error={save.error} />}
      {settings.map((one, place) =>
        isSetting(one) ? (
          <SettingField key={one.key} setting={one} value={fields.get(one.key) ?? ''} error={wrong.get(one.key)} onChange={(value) => setFields(new Map(fields).set(one.key, value))} />
        ) : (
          <p key={place} className="setting-words">
            {one.words}
          </p>
        ),
      )}
      <Button type="submit" kind="primary" disabled={save.isPending}>
        Save
      </Button>
    </form>
  );
}

interface FieldProps {
  setting: Setting;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function SettingField({ setting, value, error, onChange }: FieldProps) {
  if (setting.kind === 'toggle') {
    return (
      <p>
        <Switch label={setting.label} shown on={value === 'true'} onChange={(on) => onChange(String(on))} />
      </p>
    );
  }
  if (setting.kind === 'many') {
    const chosen = new Set(value === '' ? [] : value.split('\n'));
    return (
      <fieldset className="many">
        <legend>{setting.label}</legend>
        {setting.options.map((option) => (
          <Check
            key={option.value}
            label={option.label}
            checked={chosen.has(option.value)}
            onChange={(on) => {
              const next = setting.options.map((one) => one.value).filter((one) => (one === option.value ? on : chosen.has(one)));
              onChange(next.join('\n'));
            }}
          />
        ))}
      </fieldset>
    );
  }
  return (
    <Field label={setting.label} error={error} {...(setting.kind === 'json' && { hint: 'The console does not know this kind of setting, so it is JSON.' })}>
      {setting.kind === 'select' ? (
        <Select value={value} onChange={onChange} options={setting.options} />
      ) : setting.kind === 'json' ? (
        <TextArea code value={value} onChange={onChange} rows={3} />
      ) : (
        <Input type={setting.kind === 'number' ? 'number' : 'text'} value={value} onChange={onChange} min={setting.min} max={setting.max} maxLength={4_000} />
      )}
    </Field>
  );
}
