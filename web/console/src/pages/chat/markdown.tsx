/** Text from a model. It is untrusted: no HTML, no images (the URL of an image can leak the conversation), and links show their target. */
import { memo } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  a: ({ href, children }) => <OutsideLink href={href}>{children}</OutsideLink>,
  img: ({ src, alt }) => (
    <span className="no-image">
      Image not loaded{alt === undefined || alt === '' ? '' : `: ${alt}`}{' '}
      {typeof src === 'string' && hostOf(src) !== null && <span className="muted">({hostOf(src)})</span>}
    </span>
  ),
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  input: ({ checked }) => (
    <input type="checkbox" checked={checked === true} readOnly disabled aria-label={checked === true ? 'Done' : 'Not done'} />
  ),
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
};

export const MarkdownText = memo(function Words({ text }: { text: string }) {
  return (
    <div className="words">
      <Markdown remarkPlugins={PLUGINS} components={COMPONENTS} skipHtml={false}>
        {text}
      </Markdown>
    </div>
  );
});

function OutsideLink({ href, children }: { href: string | undefined; children: React.ReactNode }) {
  const host = href === undefined ? null : hostOf(href);
  if (host === null) return <span>{children}</span>;
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
        <span className="hidden"> (opens in a new tab)</span>
      </a>
      {children !== href && (
        <>
          {' '}
          <span className="link-host">{host}</span>
        </>
      )}
    </>
  );
}

/** Only http(s) links are rendered as links. */
function hostOf(address: string): string | null {
  const url = URL.parse(address);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.host : null;
}
