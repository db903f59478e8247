/** How to connect each client to this server, with its own address, and which of them are connected. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { clientsQuery } from '../../api/clients';
import { type McpAddress, mcpAddressQuery } from '../../api/mcp-address';
import { useMe } from '../../api/queries';
import { Code } from '../../ui/code';
import { Empty, ErrorBox, Loading, Notice } from '../../ui/feedback';
import { matches } from '../../ui/matches';
import { Page } from '../../ui/page';
import { Search } from '../../ui/search';
import { useUrlText } from '../../ui/url-state';
import { CHAT_APPS } from './chat-apps';
import { ClientCard } from './client-card';
import { CODING_TOOLS } from './coding-tools';
import { findConnection } from './connected';
import type { ClientGuide } from './guide';
import { PROGRAMS } from './programs';
import './style.css';

const GROUPS = [
  { title: 'Chat apps', guides: CHAT_APPS },
  { title: 'Editors and coding agents', guides: CODING_TOOLS },
  { title: 'Workflows and your own programs', guides: PROGRAMS },
] as const;

export function ConnectPage() {
  const address = useQuery(mcpAddressQuery);
  return (
    <div className="connect-page">
      <Page title="Connect" lead="Use your tools in the assistants, editors and programs that you already have.">
        {address.isPending && <Loading what="the address of this server" />}
        {address.error !== null && <ErrorBox error={address.error} onRetry={() => void address.refetch()} />}
        {address.data !== undefined && <Guides address={address.data} />}
      </Page>
    </div>
  );
}

function Guides({ address }: { address: McpAddress }) {
  const [search, setSearch] = useUrlText('q');
  const clients = useQuery(clientsQuery);
  const groups = GROUPS.map(({ title, guides }) => ({ title, guides: guides.filter((guide) => isFound(guide, search)) }));
  const count = groups.reduce((sum, { guides }) => sum + guides.length, 0);
  return (
    <>
      <section className="card" aria-labelledby="any-client">
        <h2 id="any-client">Any MCP client</h2>
        <p className="muted">
          Add this address as an MCP server. The client opens this console in your browser, and you decide what it may do. See your{' '}
          <Link to="/settings" search={{ tab: 'clients' }}>
            connected clients
          </Link>
          .
        </p>
        <Code value={address.url} label="MCP address" />
      </section>
      <Notes address={address} />
      <div className="row connect-search">
        <Search label="Search clients" value={search} onChange={setSearch} />
        <p className="muted" role="status">
          {search.trim() === '' ? '' : `${count} found`}
        </p>
      </div>
      {count === 0 && (
        <Empty title="Nothing found">
          <p>Every client that supports MCP over HTTP can use the address above.</p>
        </Empty>
      )}
      {groups
        .filter(({ guides }) => guides.length > 0)
        .map(({ title, guides }) => (
          <section key={title} aria-label={title}>
            <h2 className="connect-group">{title}</h2>
            <ul className="plain-list connect-grid">
              {guides.map((guide) => (
                <ClientCard
                  key={guide.id}
                  guide={guide}
                  address={address}
                  connection={findConnection(guide.identity, clients.data?.clients ?? [], Date.now())}
                />
              ))}
            </ul>
          </section>
        ))}
    </>
  );
}

const isFound = ({ name, kind }: ClientGuide, search: string) => matches(search.trim(), name, kind);

/** What differs on this server. */
function Notes({ address }: { address: McpAddress }) {
  const me = useMe();
  return (
    <>
      {new URL(address.url).origin !== window.location.origin && (
        <Notice>
          You opened this console at {window.location.origin}. Clients use the server's public address, {new URL(address.url).origin}.
        </Notice>
      )}
      {!address.supportsOAuth && (
        <Notice kind="warn">
          This server does not let clients sign in. Create a token, and add the header <code>Authorization: Bearer</code> with the token to
          the configuration of the client.
        </Notice>
      )}
      {me.authMode === 'dev' && (
        <Notice>
          Dev mode: programs on this machine can send the header <code>X-User-Id: {me.userId ?? me.name}</code> instead of a token.
        </Notice>
      )}
    </>
  );
}
