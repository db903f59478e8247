/** A list of connected clients, which can be disconnected. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { CLIENTS_KEY, type ConnectedClient } from '../../api/clients';
import { queryClient } from '../../api/queries';
import { clientName } from '../../clients/consent';
import { scopeSummary } from '../../clients/scopes';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Fact } from '../../ui/facts';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';

interface ListProps {
  clients: readonly ConnectedClient[];
  /** Names of apps by package. */
  appNames: ReadonlyMap<string, string>;
  disconnect: (id: string) => Promise<void>;
}

export function ClientList({ clients, appNames, disconnect: send }: ListProps) {
  const [asked, ask] = useState<ConnectedClient>();
  const disconnect = useMutation({
    mutationFn: ({ id }: ConnectedClient) => send(id),
    onSuccess: (_, client) => toast(`${clientName(client.name)} was disconnected.`),
    onError: toastError,
    onSettled: () => {
      ask(undefined);
      return queryClient.invalidateQueries({ queryKey: [CLIENTS_KEY] });
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
          <p>Its access ends within a second. To use the tools again, it must ask again.</p>
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
