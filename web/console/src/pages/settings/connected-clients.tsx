/** Programs that the user connected: what they may do, and how to disconnect them. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { clientsQuery, type ConnectedClient, disconnectClient } from '../../api/clients';
import { queryClient } from '../../api/queries';
import { clientName } from '../../clients/consent';
import { scopeSummary } from '../../clients/scopes';
import { Button } from '../../ui/button';
import { Code } from '../../ui/code';
import { Confirm } from '../../ui/dialog';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';
import { installsQuery } from '../tools/queries';

export function ConnectedClients() {
  const list = useQuery(clientsQuery);
  const clients = list.data?.clients ?? [];
  return (
    <>
      <p className="muted">Programs that you allowed to use your tools. Disconnect those that you no longer use.</p>
      {list.isPending && <Loading what="your clients" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.data && clients.length === 0 && <Empty title="No connected clients" />}
      {clients.length > 0 && <ClientList clients={clients} />}
      {list.data && <HowToConnect />}
    </>
  );
}

function HowToConnect() {
  return (
    <section className="card" aria-labelledby="connect-client">
      <h2 id="connect-client">Connect a client</h2>
      <p className="muted">
        Add this address as an MCP server in Claude, ChatGPT, Cursor, VS Code or any other MCP client. The client opens this console in your
        browser, and you decide what it may do.
      </p>
      <Code value={`${window.location.origin}/mcp`} label="MCP address" />
    </section>
  );
}

function ClientList({ clients }: { clients: readonly ConnectedClient[] }) {
  const [asked, ask] = useState<ConnectedClient>();
  const appNames = useAppNames(clients);
  const disconnect = useMutation({
    mutationFn: ({ id }: ConnectedClient) => disconnectClient(id),
    onSuccess: (_, client) => toast(`${clientName(client.name)} was disconnected.`),
    onError: toastError,
    onSettled: () => {
      ask(undefined);
      return queryClient.invalidateQueries({ queryKey: clientsQuery.queryKey });
    },
  });
  return (
    <>
      <ul className="plain-list" aria-label="Connected clients">
        {clients.map((client) => (
          <ClientCard key={client.id} client={client} appName={(one) => appNames.get(one) ?? one} onDisconnect={() => ask(client)} />
        ))}
      </ul>
      {asked !== undefined && (
        <Confirm
          title={`Disconnect ${clientName(asked.name)}?`}
          action="Disconnect"
          danger
          busy={disconnect.isPending}
          onConfirm={() => disconnect.mutate(asked)}
          onClose={() => ask(undefined)}
        >
          <p>Its access ends within a second. To use your tools again, it must ask you again.</p>
        </Confirm>
      )}
    </>
  );
}

interface CardProps {
  client: ConnectedClient;
  appName: (packageName: string) => string;
  onDisconnect: () => void;
}

function ClientCard({ client, appName, onDisconnect }: CardProps) {
  const name = clientName(client.name);
  return (
    <li className="card">
      <div className="card-head">
        <div className="grow">
          <h2 className="anywhere">{name}</h2>
          <p className="muted flat anywhere">{client.host}</p>
        </div>
        <Button small kind="danger" onClick={onDisconnect} aria-label={`Disconnect ${name}`}>
          Disconnect
        </Button>
      </div>
      <dl className="facts client-facts">
        <Fact label="Permissions">{scopeSummary(client.scopes).join(', ') || 'None'}</Fact>
        <Fact label="Apps">{client.apps.length === 0 ? 'All your apps' : client.apps.map(appName).join(', ')}</Fact>
        <Fact label="Connected">
          <Ago at={client.createdAt} />
        </Fact>
        <Fact label="Last used">{client.lastUsedAt == null ? 'Never' : <Ago at={client.lastUsedAt} />}</Fact>
        <Fact label="Expires">
          <Ago at={client.expiresAt} />
        </Fact>
      </dl>
    </li>
  );
}

function Fact({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Names of the user's apps by package. Fetched only if a client is restricted to some. */
function useAppNames(clients: readonly ConnectedClient[]): ReadonlyMap<string, string> {
  const { data } = useQuery({ ...installsQuery, enabled: clients.some(({ apps }) => apps.length > 0) });
  return new Map(data?.installs.map(({ packageName, name }) => [packageName, name] as const));
}
