/** Simulated glasses in the browser: display, speech, and controls of the wearer. */
import { useQuery } from '@tanstack/react-query';
import { Power, PowerOff } from 'lucide-react';
import { useEffect } from 'react';
import { useCalls, type CallSummary } from '../../api/calls';
import { devicesQuery, queryClient, useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Field, Select } from '../../ui/form';
import { Badge, ErrorBox, Loading, Notice } from '../../ui/feedback';
import { Card, Page } from '../../ui/page';
import { duration } from '../../ui/time';
import { Apps } from './apps';
import { Controls } from './controls';
import { GlassesDisplay } from './display';
import { selectModel, connect, disconnect, logCall, useGlassesState } from './link';
import { EventLog } from './log';
import { getCallsSince, installedQuery } from './queries';
import { SpokenList } from './spoken';
import { Speak } from './speak';
import { visibleLayout, type Status } from './state';
import { ToolsHere } from './tools';
import './style.css';

const USUAL_MODEL = 'Even Realities G1';
const STATUS: Record<Status, { text: string; kind: 'plain' | 'good' | 'warn' }> = {
  off: { text: 'off', kind: 'plain' },
  connecting: { text: 'connecting', kind: 'warn' },
  on: { text: 'connected', kind: 'good' },
  lost: { text: 'connection lost, reconnecting', kind: 'warn' },
};

export function GlassesPage() {
  const worn = useGlassesState();
  const me = useMe();
  const devices = useQuery(devicesQuery);
  const installed = useQuery(installedQuery);
  const models = devices.data?.models ?? [];
  const model = models.find((one) => one.modelName === worn.model) ?? models.find((one) => one.modelName === USUAL_MODEL) ?? models[0];
  useEffect(() => {
    if (model !== undefined) selectModel(model.modelName);
  }, [model]);
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: ['glasses'] });
  }, [worn.changes]);
  const watching = useCalls(worn.status === 'on', { user: me.userId ?? undefined }, { onCall: tellCall });
  const { since } = worn;
  useEffect(() => {
    if (watching !== 'live' || since === null) return;
    // Calls that ended before the subscription are in the ledger. If it cannot be read, the stream continues anyway.
    getCallsSince(since, me.userId ?? undefined).then(
      (calls) => calls.toReversed().forEach(tellCall),
      () => undefined,
    );
  }, [watching, since, me.userId]);

  const nameOf = (app: string) => installed.data?.find((one) => one.packageName === app)?.name ?? app;
  const on = worn.status === 'on';
  const { text, kind } = STATUS[worn.status];
  const active = worn.status !== 'off';
  const picture = visibleLayout(worn);
  const dashboard = picture !== null && picture === worn.dashboard;
  return (
    <Page title="Glasses" lead="Simulated smart glasses. They stay connected while you use other pages of the console, until you close it.">
      {devices.isPending && <Loading what="the models" />}
      {devices.error && <ErrorBox error={devices.error} onRetry={() => void devices.refetch()} />}
      {model !== undefined && (
        <div className="glasses-page glasses">
          <div className="glasses-main">
            <Card>
              <div className="wear">
                <Field label="Model">
                  <Select
                    value={model.modelName}
                    onChange={selectModel}
                    options={models.map(({ modelName }) => ({
                      value: modelName,
                      label: modelName === 'None' ? 'None (phone only)' : modelName,
                    }))}
                  />
                </Field>
                <Button
                  kind={active ? 'plain' : 'primary'}
                  onClick={active ? disconnect : connect}
                  icon={active ? <PowerOff size={16} aria-hidden /> : <Power size={16} aria-hidden />}
                >
                  {active ? 'Disconnect' : 'Connect'}
                </Button>
                <span role="status">
                  <Badge kind={kind}>{text}</Badge>
                </span>
              </div>
              {worn.problem !== null && <Notice kind="warn">{worn.problem}</Notice>}
              {model.hasDisplay ? (
                <GlassesDisplay model={model} layout={picture?.layout ?? null} idle={on ? 'The display is empty' : 'Off'} />
              ) : (
                <NoDisplay speaks={model.hasSpeaker} last={worn.aloud[0]?.text ?? null} />
              )}
              <p className="drawn-by" role="status">
                {picture !== null &&
                  model.hasDisplay &&
                  (dashboard ? (
                    <>Dashboard, while you look up</>
                  ) : (
                    <>
                      Drawn by <strong>{nameOf(picture.app)}</strong>
                    </>
                  ))}
              </p>
              <Abilities model={model} />
            </Card>
            <Speak on={on} listened={worn.microphone} />
          </div>
          <div className="glasses-side">
            <Apps on={on} />
            <SpokenList aloud={worn.aloud} muted={worn.muted} nameOf={nameOf} />
            <Controls model={model} on={on} />
            <ToolsHere on={on} />
          </div>
          <div className="glasses-log">
            <EventLog log={worn.log} nameOf={nameOf} />
          </div>
        </div>
      )}
    </Page>
  );
}

/** A call that woke an app says so: only then does that step take long. */
const WAKE_US = 1_000;

function tellCall(call: CallSummary) {
  const tool = call.tool.slice(call.tool.indexOf(':') + 1);
  const woke = call.steps.ready >= WAKE_US ? `, woken in ${duration(call.steps.ready)}` : '';
  const app = call.tool.includes(':') ? call.tool.slice(0, call.tool.indexOf(':')) : null;
  logCall(call.id, `finished ${tool}: ${call.outcome} after ${duration(call.durationUs)}${woke}`, app);
  void queryClient.invalidateQueries({ queryKey: ['glasses', 'session'] });
}

function NoDisplay({ speaks, last }: { speaks: boolean; last: string | null }) {
  return (
    <div className="no-display" role="region" aria-label="No display">
      <p className="flat">
        <strong>These glasses have no display.</strong>{' '}
        {speaks
          ? 'They have a speaker: what apps say is played and listed under “Spoken”.'
          : 'They have no speaker either; the phone plays what apps say.'}
      </p>
      {last !== null && <p className="flat words">“{last}”</p>}
    </div>
  );
}

function Abilities({
  model,
}: {
  model: {
    hasDisplay: boolean;
    hasCamera: boolean;
    hasMicrophone: boolean;
    hasSpeaker: boolean;
    hasButton: boolean;
    hasIMU: boolean;
    hasLight: boolean;
    hasWifi: boolean;
  };
}) {
  const all: [boolean, string][] = [
    [model.hasDisplay, 'display'],
    [model.hasMicrophone, 'microphone'],
    [model.hasSpeaker, 'speaker'],
    [model.hasCamera, 'camera'],
    [model.hasButton, 'button'],
    [model.hasIMU, 'motion'],
    [model.hasLight, 'light'],
    [model.hasWifi, 'Wi-Fi'],
  ];
  return (
    <ul className="abilities" aria-label="Hardware of these glasses">
      {all.map(([has, name]) => (
        <li key={name} className={has ? 'has' : 'lacks'}>
          <span className="hidden">{has ? 'has' : 'no'} </span>
          {name}
        </li>
      ))}
    </ul>
  );
}
