import type { ErrorComponentProps } from '@tanstack/react-router';
import { ErrorBox } from '../ui/feedback';

export function PageError({ error, reset }: ErrorComponentProps) {
  return <ErrorBox error={error} onRetry={reset} />;
}
