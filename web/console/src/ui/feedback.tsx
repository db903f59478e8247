/** Empty, loading and error states. */
import { AlertTriangle } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiError, errorText } from '../api/error';
import { Button } from './button';

export function Loading({ what }: { what?: string }) {
  return (
    <p className="loading" role="status">
      <span className="spinner" aria-hidden />
      Loading{what === undefined ? '' : ` ${what}`} …
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problems = error instanceof ApiError ? error.problems : [];
  return (
    <div className="error-box" role="alert">
      <AlertTriangle size={18} aria-hidden />
      <div>
        <p>{errorText(error)}</p>
        {problems.length > 0 && (
          <ul>
            {problems.map((problem, place) => (
              <li key={place}>
                {problem.path !== undefined && <code>{problem.path}</code>} {problem.message}
              </li>
            ))}
          </ul>
        )}
        {onRetry !== undefined && (
          <Button small onClick={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

export function Notice({ kind = 'info', children }: { kind?: 'info' | 'good' | 'warn' | 'bad'; children: ReactNode }) {
  return (
    <div className={`notice ${kind}`} role="status">
      {children}
    </div>
  );
}

export function Badge({
  kind = 'plain',
  children,
  title,
}: {
  kind?: 'plain' | 'good' | 'warn' | 'bad' | 'accent';
  children: ReactNode;
  title?: string;
}) {
  return (
    <span className={`badge ${kind}`} title={title}>
      {children}
    </span>
  );
}
