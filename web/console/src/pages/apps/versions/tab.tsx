/** Versions of the tools: compare two of them, or activate an older one. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/dialog';
import { Badge, Empty, ErrorBox, Loading } from '../../../ui/feedback';
import { Field, Select } from '../../../ui/form';
import { useMore } from '../../../ui/more';
import { Card } from '../../../ui/page';
import { Ago } from '../../../ui/time';
import { toast, toastError } from '../../../ui/toast';
import { useUrlParams } from '../../../ui/url-state';
import { countLabel } from '../../../ui/labels';
import { activateVersion, appsChanged, versionsQuery, type App, type Version } from '../api';
import { Difference } from './difference';

export function VersionsTab({ app }: { app: App }) {
  const versions = useQuery(versionsQuery(app.packageName));
  if (versions.isPending) return <Loading what="the versions" />;
  if (versions.data === undefined) return <ErrorBox error={versions.error} onRetry={() => void versions.refetch()} />;
  const list = versions.data.versions;
  if (list.length === 0) {
    return (
      <Empty title="No version yet">
        <p>Each time you save the tools, a version is listed here.</p>
      </Empty>
    );
  }
  return (
    <>
      <Compare app={app} versions={list} />
      <History app={app} versions={list} />
    </>
  );
}

function Compare({ app, versions }: { app: App; versions: readonly Version[] }) {
  const newest = versions[0]?.version ?? 0;
  const [params, change] = useUrlParams();
  const named = (text: string | undefined) => versions.find(({ version }) => String(version) === text)?.version;
  const later = named(params.to) ?? newest;
  const earlier = named(params.from) ?? versions.find(({ version }) => version < later)?.version ?? later;
  const options = versions.map(({ version, current }) => ({
    value: String(version),
    label: `Version ${version}${current ? ', in use' : ''}`,
  }));
  return (
    <Card title="What changed">
      <div className="grid-2">
        <Field label="From">
          <Select value={String(earlier)} onChange={(from) => change({ from })} options={options} />
        </Field>
        <Field label="To">
          <Select value={String(later)} onChange={(to) => change({ to })} options={options} />
        </Field>
      </div>
      {earlier === later ? (
        <p className="muted">{versions.length === 1 ? 'There is only one version so far.' : 'Choose two different versions.'}</p>
      ) : (
        <Difference app={app.packageName} from={earlier} to={later} />
      )}
    </Card>
  );
}

function History({ app, versions }: { app: App; versions: readonly Version[] }) {
  const [asked, setAsked] = useState<Version>();
  const { shown, more } = useMore(versions, 30);
  const use = useMutation({
    mutationFn: (version: number) => activateVersion(app.packageName, version),
    onSuccess: async ({ version }) => {
      await appsChanged();
      toast(`Version ${version} is in use now.`);
    },
    onError: toastError,
    onSettled: () => setAsked(undefined),
  });
  return (
    <Card title="History">
      <div className="table-scroll" tabIndex={0} role="region" aria-label="History of versions">
        <table>
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">Saved</th>
              <th scope="col">By</th>
              <th scope="col">Tools</th>
              <th scope="col">
                <span className="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={one.version}>
                <th scope="row">
                  {one.version} {one.current && <Badge kind="good">in use</Badge>}
                </th>
                <td>
                  <Ago at={one.createdAt} />
                </td>
                <td className="anywhere">{one.createdBy}</td>
                <td>{countLabel(one.toolCount, 'tool')}</td>
                <td className="number">
                  {!one.current && (
                    <Button small onClick={() => setAsked(one)}>
                      Use version {one.version}
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
      {asked !== undefined && (
        <Confirm
          title={`Use version ${asked.version}?`}
          action={`Use version ${asked.version}`}
          busy={use.isPending}
          onConfirm={() => use.mutate(asked.version)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            All users of the app get its {countLabel(asked.toolCount, 'tool')} immediately, with the prompts and resources of that version.
            No version is deleted.
          </p>
        </Confirm>
      )}
    </Card>
  );
}
