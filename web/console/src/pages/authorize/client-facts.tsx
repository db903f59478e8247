/**
 * Who receives access, as far as the server knows. The client's own website is not shown: anyone can claim to be from a well-known one.
 */
import { AlertTriangle } from 'lucide-react';
import type { ReactNode } from 'react';
import type { ConsentInfo } from '../../api/clients';
import { hostOf } from '../../clients/consent';
import { Notice } from '../../ui/feedback';

export function ClientFacts({ info: { client, redirectHost, isLoopback }, name }: { info: ConsentInfo; name: string }) {
  const documentHost = client.kind === 'metadata-document' ? hostOf(client.id) : undefined;
  return (
    <section className="card" aria-label="Client">
      <p className="muted flat">After your decision, the browser returns to</p>
      <p className="redirect-host">
        <bdi>{redirectHost}</bdi>
      </p>
      {isLoopback && (
        <Warning>
          A program on this computer receives access. Continue only if you just started {name} here and asked it to connect.
        </Warning>
      )}
      {client.kind === 'dynamic' && (
        <Warning>
          “{name}” is the client's own claim and is not verified.
          {!isLoopback && (
            <>
              {' '}
              Continue only if you know <bdi>{redirectHost}</bdi>.
            </>
          )}
        </Warning>
      )}
      <p className="muted flat anywhere">
        {documentHost !== undefined && (
          <>
            Identified by a document at <strong>{documentHost}</strong>: <code>{client.id}</code>
          </>
        )}
        {client.kind === 'preregistered' && 'Registered by the operator of this server.'}
        {client.kind === 'dynamic' && 'The client registered itself at this server.'}
      </p>
    </section>
  );
}

function Warning({ children }: { children: ReactNode }) {
  return (
    <Notice kind="warn">
      <p className="warning">
        <AlertTriangle size={18} aria-hidden />
        <span>{children}</span>
      </p>
    </Notice>
  );
}
