/** Information about the server, and links to documentation. */
import type { Me } from '../../api/console';
import { useMe } from '../../api/queries';
import { Card } from '../../ui/page';
import { METHOD_TEXTS } from '../../ui/roles';
import { fullTime } from '../../ui/time';

const ENDPOINTS: [string, string, string][] = [
  ['REST', '/api/tools', 'list and call tools'],
  ['MCP', '/mcp', 'for MCP clients'],
  ['Chat', '/api/chat', 'for the AI SDK'],
  ['OpenAI', '/v1', 'as the base URL of OpenAI clients'],
];

const DOCS: [string, string][] = [
  ['docs/apps.md', 'write an app and describe its tools'],
  ['docs/mcp.md', 'connect MCP clients'],
  ['docs/chat.md', 'talk to models with tools'],
  ['docs/plugins.md', 'plugins and how they are signed'],
  ['docs/upstreams.md', 'use other MCP servers'],
  ['docs/operating.md', 'run a server'],
  ['docs/errors.md', 'what each error code means'],
];

function signInText({ session, authMode }: Me): string {
  if (session != null) return METHOD_TEXTS[session.method];
  return authMode === 'dev' ? 'dev mode: anyone on this machine can sign in as any user' : 'by token';
}

export function About() {
  const me = useMe();
  const here = window.location.origin;
  const facts: [string, string][] = [
    ['Version', me.version],
    ['Server', here],
    ['Sign-in', signInText(me)],
    ['You', `${me.name}, ${me.role}`],
    ...(me.tokenEndsAt == null || me.session != null ? [] : ([['Your token expires', fullTime(me.tokenEndsAt)]] as [string, string][])),
    [
      'Speech',
      [
        me.speech.speak ? 'synthesis available' : 'no synthesis',
        me.speech.transcribe ? 'transcription available' : 'no transcription',
      ].join(', '),
    ],
  ];
  return (
    <>
      <Card title="This server">
        <dl className="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Card>
      <Card title="Endpoints">
        <ul className="plain-list listing">
          {ENDPOINTS.map(([name, path, what]) => (
            <li key={name}>
              <span className="row">
                <strong>{name}</strong>
                <code>{here + path}</code>
              </span>
              <span className="muted">{what}</span>
            </li>
          ))}
        </ul>
        <p className="below flat">
          Every route with its parameters and responses: <a href="/api/openapi.json">the OpenAPI document</a>.
        </p>
      </Card>
      <Card title="Documentation">
        <p className="muted">These files come with the source:</p>
        <ul className="plain-list listing">
          {DOCS.map(([file, what]) => (
            <li key={file}>
              <code>{file}</code>
              <span className="muted">{what}</span>
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
}
