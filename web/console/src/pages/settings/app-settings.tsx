/** One app's settings as a form. */
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, responseData } from '../../api/client';
import { queryClient } from '../../api/queries';
import { Button } from '../../ui/button';
import { ErrorBox, Loading } from '../../ui/feedback';
import { Check, Field, Input, Select, Switch, TextArea } from '../../ui/form';
import { toast } from '../../ui/toast';
import { readSettings, formatValue, valuesOf, type Setting, type SettingText } from './setting-values';

const settingsQuery = (app: string) =>
  queryOptions({
    queryKey: ['settings', 'app', app],
    queryFn: ({ signal }) => responseData(api.GET('/api/settings/apps/{package}', { params: { path: { package: app } }, signal })),
  });

export function AppSettings({ app, name }: { app: string; name: string }) {
  const settings = useQuery(settingsQuery(app));
  return (
    <div className="app-settings">
      {settings.isPending && <Loading what="its settings" />}
      {settings.error && <ErrorBox error={settings.error} onRetry={() => void settings.refetch()} />}
      {settings.data?.settings.length === 0 && <p className="muted flat">{name} has no settings.</p>}
      {settings.data && settings.data.settings.length > 0 && (
        <SettingsForm app={app} name={name} settings={readSettings(settings.data.settings)} />
      )}
    </div>
  );
}

const isSetting = (one: Setting | SettingText): one is Setting => 'key' in one;

function SettingsForm({ app, name, settings }: { app: string; name: string; settings: readonly (Setting | SettingText)[] }) {
  const known = settings.filter(isSetting);
  // Only edited values: the rest follows the server, also while the user types.
  const [edits, setEdits] = useState<ReadonlyMap<string, string>>(new Map());
  const [wrong, setWrong] = useState<ReadonlyMap<string, string>>(new Map());
  const save = useMutation({
    mutationFn: async (sent: ReadonlyMap<string, string>) => {
      // Fetched again, because saving replaces all values: changes made elsewhere are kept.
      const now = await queryClient.fetchQuery({ ...settingsQuery(app), staleTime: 0 });
      const { values } = valuesOf(readSettings(now.settings).filter(isSetting), sent);
      return responseData(api.PUT('/api/settings/apps/{package}', { params: { path: { package: app } }, body: values }));
    },
    onSuccess: (now, sent) => {
      toast(`The settings of ${name} were saved.`);
      queryClient.setQueryData(settingsQuery(app).queryKey, now);
      setEdits((current) => new Map([...current].filter(([key, field]) => sent.get(key) !== field)));
    },
  });
  function submit() {
    const { errors } = valuesOf(known, edits);
    setWrong(errors);
    if (errors.size === 0) save.mutate(edits);
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
          <SettingField
            key={one.key}
            setting={one}
            value={edits.get(one.key) ?? formatValue(one)}
            error={wrong.get(one.key)}
            onChange={(value) => setEdits(new Map(edits).set(one.key, value))}
          />
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
              // In the order of the app; choices that the app no longer offers stay selected.
              const gone = [...chosen].filter((one) => !setting.options.some(({ value: offered }) => offered === one));
              const next = setting.options.map((one) => one.value).filter((one) => (one === option.value ? on : chosen.has(one)));
              onChange([...gone, ...next].join('\n'));
            }}
          />
        ))}
      </fieldset>
    );
  }
  return (
    <Field
      label={setting.label}
      error={error}
      {...(setting.kind === 'json' && { hint: 'The console does not support this kind of setting, so it is shown as JSON.' })}
    >
      {setting.kind === 'select' ? (
        <Select value={value} onChange={onChange} options={choices(setting, value)} />
      ) : setting.kind === 'json' ? (
        <TextArea code value={value} onChange={onChange} rows={3} />
      ) : (
        <Input
          type={setting.kind === 'number' ? 'number' : 'text'}
          value={value}
          onChange={onChange}
          min={setting.min}
          max={setting.max}
          maxLength={4_000}
        />
      )}
    </Field>
  );
}

/**
 * A value that is not among the choices is added as one: otherwise the first choice would seem to be selected, and could not be selected.
 */
function choices({ options }: Setting, value: string) {
  if (options.some((one) => one.value === value)) return options;
  return [{ value, label: value === '' ? 'Not set' : value }, ...options];
}
