import type { ReactNode } from 'react';
import { useEffect } from 'react';

interface Props {
  title: string;
  /** One sentence under the title. */
  lead?: ReactNode;
  /** Buttons on the right. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A page with its title, which is also the title of the document. */
export function Page({ title, lead, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Toolyard`;
  }, [title]);
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p className="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

export function Card({ title, actions, children }: { title?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="card">
      {(title !== undefined || actions !== undefined) && (
        <div className="card-head">
          {title !== undefined && <h2>{title}</h2>}
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}
