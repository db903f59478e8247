import { useInfiniteQuery } from '@tanstack/react-query';
import { useInstalled } from '../../plugins/store';
import { readPermissions } from '../../plugins/trust/permissions';
import type { Json } from '../../plugins/trust/strict';
import { Avatar } from '../../ui/avatar';
import { Button } from '../../ui/button';
import { SEARCH_MS, useDebounced } from '../../ui/debounced';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Field, Input } from '../../ui/form';
import { MoreFromServer } from '../../ui/more';
import { toastError } from '../../ui/toast';
import { useUrlText } from '../../ui/url-state';
import { PermissionList } from './permission-list';
import { getCatalogue, getCatalogued } from './server-api';
import { TrustBadge } from './trust-badge';

/** The server's catalogue. The badge is the server's verdict; the browser verifies a plugin itself before it installs it. */
export function Catalogue({ onReview }: { onReview: (text: string) => void }) {
  const [q, setQ] = useUrlText('q');
  const asked = useDebounced(q.trim(), SEARCH_MS);
  const installed = useInstalled();
  const pages = useInfiniteQuery({
    queryKey: ['plugin-catalogue', asked],
    queryFn: ({ pageParam, signal }) => getCatalogue(asked, pageParam, signal),
    placeholderData: (before) => before,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const plugins = pages.data?.pages.flatMap((page) => page.plugins) ?? [];
  const look = (id: string, version: string) => void getCatalogued(id, version).then(onReview, toastError);
  return (
    <>
      <Field label="Search">
        <Input type="search" value={q} onChange={setQ} placeholder="Searches names and descriptions" />
      </Field>
      {pages.isPending && <Loading what="the catalogue" />}
      {pages.error !== null && <ErrorBox error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.isSuccess && plugins.length === 0 && (
        <Empty title={asked === '' ? 'The catalogue is empty' : 'Nothing found'}>
          <p>{asked === '' ? 'Plugins appear here when the curators of this server sign them.' : 'Try another search.'}</p>
        </Empty>
      )}
      <ul className="plain-list grid-2">
        {plugins.map((plugin) => {
          const has = installed.some(({ id, hash }) => id === plugin.id && hash === plugin.contentHash);
          return (
            <li key={`${plugin.id} ${plugin.version}`}>
              <article className="card plugin-card" aria-label={plugin.name}>
                <div className="plugin-head">
                  <Avatar name={plugin.name} />
                  <div className="grow">
                    <h2>{plugin.name}</h2>
                    <p className="row">
                      <TrustBadge status={plugin.status} />
                      <Badge>{plugin.version}</Badge>
                    </p>
                  </div>
                </div>
                <p className="plugin-about">{plugin.description.slice(0, 300)}</p>
                <PermissionList permissions={readPermissions(plugin.asksFor as Json, [])} none="No permissions." />
                <div className="plugin-foot">
                  {has ? (
                    <Badge kind="accent">In this browser</Badge>
                  ) : (
                    <Button small onClick={() => look(plugin.id, plugin.version)}>
                      Review
                      <span className="hidden">
                        : {plugin.name} {plugin.version}
                      </span>
                    </Button>
                  )}
                </div>
              </article>
            </li>
          );
        })}
      </ul>
      <MoreFromServer pages={pages} />
    </>
  );
}
