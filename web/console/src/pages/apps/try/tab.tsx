/** Runs a tool of the app as a user, and shows the result. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getUsers } from '../../../api/console';
import { useMe } from '../../../api/queries';
import { Empty, ErrorBox, Loading } from '../../../ui/feedback';
import { Field, Select } from '../../../ui/form';
import { Card } from '../../../ui/page';
import { toolsQuery, type App } from '../api';
import { useUrlParams } from '../../../ui/url-state';
import { useFollowTools } from '../follow-tools';
import { isObject, isText } from '../tools/json';
import { Attempt } from './attempt';

export function TryTab({ app }: { app: App }) {
  const me = useMe();
  const own = me.userId ?? me.name;
  const set = useQuery(toolsQuery(app.packageName));
  const users = useQuery({ queryKey: ['users', ''], queryFn: () => getUsers(), enabled: me.operates });
  const [user, setUser] = useState(own);
  const [params, change] = useUrlParams();
  useFollowTools(app, set.data?.version, true);
  if (set.isPending) return <Loading what="the tools" />;
  if (set.data === undefined) return <ErrorBox error={set.error} onRetry={() => void set.refetch()} />;
  const tools = set.data.tools.filter(isObject);
  const tool = tools.find(({ name }) => name === params.tool) ?? tools[0];
  if (tool === undefined) {
    return (
      <Empty title="Nothing to try yet">
        <p>The app has no tools. Add one under AI Tools.</p>
      </Empty>
    );
  }
  const known = [...new Set([own, ...(users.data?.users ?? []).map(({ userId }) => userId)])];
  const name = String(tool.name);
  return (
    <>
      <Card>
        <div className="grid-2 try-choose">
          <Field label="Tool" {...(isText(tool.description) && { hint: tool.description.slice(0, 300) })}>
            <Select
              value={name}
              onChange={(next) => change({ tool: next })}
              options={tools.map((one) => ({
                value: String(one.name),
                label: isText(one.title) ? `${one.title} (${String(one.name)})` : String(one.name),
              }))}
            />
          </Field>
          {me.operates ? (
            <Field label="As user" hint="The call is made for this user, with their apps and glasses">
              <Select value={user} onChange={setUser} options={known.map((value) => ({ value, label: value }))} />
            </Field>
          ) : (
            <p className="hint">The call is made for you, {own}.</p>
          )}
        </div>
      </Card>
      <Attempt key={name} app={app} tool={tool} user={user} isOther={user !== own} />
    </>
  );
}
