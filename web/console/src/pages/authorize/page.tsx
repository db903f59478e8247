/** A client wants to connect: the user decides what it may do. */
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { consentQuery } from '../../api/clients';
import { ApiError } from '../../api/error';
import { queryClient } from '../../api/queries';
import { ErrorBox, Loading } from '../../ui/feedback';
import { Page } from '../../ui/page';
import { ConsentForm, type ConsentAnswer } from './consent-form';
import { ActingForOther, RequestEnded, Returning } from './outcomes';
import './style.css';

export function AuthorizePage() {
  const { request } = useSearch({ from: '/authorize' });
  return (
    <div className="authorize-page">
      {request === undefined ? (
        <RequestEnded message="The address has no request of a client." />
      ) : (
        <ConsentRequest key={request} request={request} />
      )}
    </div>
  );
}

/** The server rejects requests that are invalid, expired or already answered with 400. */
const INVALID = 400;

function ConsentRequest({ request }: { request: string }) {
  const consent = useQuery(consentQuery(request));
  const [answer, setAnswer] = useState<ConsentAnswer>();
  useExpiry(request, consent.data?.expiresAt);
  if (answer !== undefined) return <Returning answer={answer} />;
  const status = consent.error instanceof ApiError ? consent.error.status : undefined;
  if (status === INVALID) return <RequestEnded message={consent.error?.message} />;
  if (status === 403) return <ActingForOther message={consent.error?.message} />;
  // Once the request is shown, a later failure does not remove it.
  if (consent.data !== undefined) {
    return <ConsentForm key={consent.data.user} request={request} info={consent.data} onAnswer={setAnswer} />;
  }
  return (
    <Page title="Connect a client">
      {consent.isPending ? <Loading what="the request" /> : <ErrorBox error={consent.error} onRetry={() => void consent.refetch()} />}
    </Page>
  );
}

/** Asks the server again when the request should have expired, because this clock may be wrong. */
function useExpiry(request: string, expiresAt: string | undefined): void {
  useEffect(() => {
    const left = expiresAt === undefined ? NaN : Date.parse(expiresAt) - Date.now();
    if (Number.isNaN(left)) return;
    const timer = setTimeout(() => void queryClient.invalidateQueries({ queryKey: consentQuery(request).queryKey }), Math.max(left, 0));
    return () => clearTimeout(timer);
  }, [request, expiresAt]);
}
