import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { isSignedOut } from '../../api/error';
import { queryClient } from '../../api/queries';
import { startUpstreamSignIn, upstreamAccessQuery } from '../../api/upstream-access';
import { isPermanent } from '../../api/watch';
import { isWebUrl } from './state';

/** Gets the link once, however often it is pressed, and opens it. `link`: the browser is about to follow it. */
export function useStart(id: string) {
  // Known at once, unlike the state of the mutation.
  const isSent = useRef(false);
  const request = useMutation({
    mutationFn: async () => {
      const { link } = await startUpstreamSignIn(id);
      if (!isWebUrl(link)) throw new Error('The MCP server names an address for the sign-in that the console does not open.');
      return link;
    },
    onSuccess: (link) => window.location.assign(link),
    onError: (error) => {
      isSent.current = false;
      // If the upstream is gone, the page says so.
      if (isPermanent(error)) void queryClient.invalidateQueries({ queryKey: upstreamAccessQuery(id).queryKey });
    },
  });
  const { reset } = request;
  useEffect(() => {
    // The user came back, and the browser shows the page as it was left.
    const restore = ({ persisted }: PageTransitionEvent) => {
      if (!persisted) return;
      isSent.current = false;
      reset();
    };
    window.addEventListener('pageshow', restore);
    return () => window.removeEventListener('pageshow', restore);
  }, [reset]);
  const start = () => {
    if (isSent.current) return;
    isSent.current = true;
    request.mutate();
  };
  const error = isSignedOut(request.error) ? null : request.error;
  return { start, link: request.data, error, isBusy: request.isPending || request.isSuccess };
}
