import { Link } from '@tanstack/react-router';
import { Check, ExternalLink } from 'lucide-react';
import type { ConnectedClient } from '../../api/clients';
import { isPublicAddress, type McpAddress } from '../../api/mcp-address';
import { Code } from '../../ui/code';
import { Badge } from '../../ui/feedback';
import { fullTime } from '../../ui/time';
import { type ClientGuide, type GuideLink, TOKEN_PLACEHOLDER } from './guide';

interface Props {
  guide: ClientGuide;
  address: McpAddress;
  connection: ConnectedClient | undefined;
}

export function ClientCard({ guide, address, connection }: Props) {
  const snippets = guide.snippets(address);
  const titleId = `connect-${guide.id}`;
  return (
    <li className="card client-card" aria-labelledby={titleId}>
      <div className="client-head">
        <div className="grow">
          <h3 id={titleId}>{guide.name}</h3>
          <p className="muted">{guide.kind}</p>
        </div>
        {/* Always there, so that screen readers announce the change. */}
        <span role="status">{connection !== undefined && <ConnectedMark connection={connection} />}</span>
      </div>
      {guide.isHosted && <HostedNote name={guide.name} url={address.url} />}
      {guide.link !== undefined && <OpenClient link={guide.link(address.url)} />}
      <ol>
        {guide.steps.map((step) => (
          <li key={step}>
            <StepText text={step} />
          </li>
        ))}
      </ol>
      {snippets.map(({ label, text }) => (
        <Code key={label} value={text} label={label} />
      ))}
      {snippets.some(({ text }) => text.includes(TOKEN_PLACEHOLDER)) && <TokenNote />}
    </li>
  );
}

function ConnectedMark({ connection: { lastUsedAt, createdAt } }: { connection: ConnectedClient }) {
  return (
    <Badge kind="good" title={`Last used: ${fullTime(lastUsedAt ?? createdAt)}`}>
      <Check size={14} aria-hidden /> Connected
    </Badge>
  );
}

function HostedNote({ name, url }: { name: string; url: string }) {
  if (isPublicAddress(url)) return <p className="muted small-note">Reaches this server over the internet.</p>;
  return (
    <p className="notice warn small-note">
      {name} must reach this server over the internet with https. At {new URL(url).origin} it cannot.
    </p>
  );
}

/** A page opens in a new tab, a program by its own scheme. */
function OpenClient({ link: { label, href } }: { link: GuideLink }) {
  const isPage = href.startsWith('https:');
  return (
    <a className="button" href={href} {...(isPage && { target: '_blank', rel: 'noopener noreferrer' })}>
      <ExternalLink size={16} aria-hidden />
      {label}
    </a>
  );
}

/** Shows text between backticks as code. */
function StepText({ text }: { text: string }) {
  return text.split('`').map((part, place) => (place % 2 === 1 ? <code key={place}>{part}</code> : part));
}

function TokenNote() {
  return (
    <p className="muted small-note">
      Replace <code>{TOKEN_PLACEHOLDER}</code> with a token.{' '}
      <Link to="/settings" search={{ tab: 'tokens' }}>
        Create one under Settings, Tokens
      </Link>
      .
    </p>
  );
}
