/** Which server this is, and where to read more. */
import { useMe } from '../../api/queries';
import { Card } from '../../ui/page';
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

export function About() {
  const me = useMe();
  const here = window.location.origin;
  const facts: [string, string][] = [
    ['Version', me.version],
    ['Server', here],
    ['Sign-in', me.authMode === 'dev' ? 'dev mode: everybody on this machine is believed' : 'by token'],
    ['You', `${me.name}, ${me.role}`],
    ...(me.tokenEndsAt == null ? [] : ([['Your token ends', fullTime(me.tokenEndsAt)]] as [string, string][])),
    [
      'Speech',
      [
        me.speech.speak ? 'the server can speak' : 'the server cannot speak',
        me.speech.transcribe ? 'and recognises speech' : 'and recognises no speech',
      ].join(' '),
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
      <Card title="Where programs connect">
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
          Every route, with its parameters and answers: <a href="/api/openapi.json">the OpenAPI document</a>.
        </p>
      </Card>
      <Card title="To read">
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
