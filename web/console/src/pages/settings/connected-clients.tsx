/** Programs that the user connected: what they may do, and how to disconnect them. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { clientsQuery, type ConnectedClient, disconnectClient } from '../../api/clients';
import { mcpAddressQuery } from '../../api/mcp-address';
import { Code } from '../../ui/code';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { installsQuery } from '../tools/queries';
import { ClientList } from './client-list';

export function ConnectedClients() {
  const list = useQuery(clientsQuery);
  const clients = list.data?.clients ?? [];
  const appNames = useAppNames(clients);
  return (
    <>
      <p className="muted">Programs that you allowed to use your tools. Disconnect those that you no longer use.</p>
      {list.isPending && <Loading what="your clients" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.data && clients.length === 0 && <Empty title="No connected clients" />}
      {clients.length > 0 && <ClientList clients={clients} appNames={appNames} disconnect={disconnectClient} />}
      {list.data && <HowToConnect />}
    </>
  );
}

function HowToConnect() {
  const { data: address } = useQuery(mcpAddressQuery);
  return (
    <section className="card" aria-labelledby="connect-client">
      <h2 id="connect-client">Connect a client</h2>
      <p className="muted">
        Add this address as an MCP server in Claude, ChatGPT, Cursor, VS Code or any other MCP client. The client opens this console in your
        browser, and you decide what it may do. <Link to="/connect">Steps for each client</Link>
      </p>
      {address !== undefined && <Code value={address.url} label="MCP address" />}
    </section>
  );
}

/** Names of the user's apps by package. Fetched only if a client is restricted to some. */
function useAppNames(clients: readonly ConnectedClient[]): ReadonlyMap<string, string> {
  const { data } = useQuery({ ...installsQuery, enabled: clients.some(({ apps }) => apps.length > 0) });
  return new Map(data?.installs.map(({ packageName, name }) => [packageName, name] as const));
}
