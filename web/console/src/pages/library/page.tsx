/** Apps that the user can install: what they do, what they request, and whether they fit the user's glasses. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { SEARCH_MS, useDebounced } from '../../ui/debounced';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { MoreFromServer } from '../../ui/more';
import { Page } from '../../ui/page';
import { matches } from '../../ui/matches';
import { Search } from '../../ui/search';
import { useUrlText } from '../../ui/url-state';
import { AppCard } from './app-card';
import { libraryQuery, sessionQuery } from './queries';
import './style.css';

export function LibraryPage() {
  const [search, setSearch] = useUrlText('q');
  const asked = useDebounced(search.trim(), SEARCH_MS);
  const library = useInfiniteQuery({ ...libraryQuery(asked), placeholderData: (before) => before });
  const session = useQuery(sessionQuery);
  const model = session.data?.capabilities?.modelName;
  const listed = library.data?.pages.flatMap((page) => page.apps) ?? [];
  // Until the server responds, show matching apps of the previous response.
  const apps =
    library.isPlaceholderData || asked !== search.trim()
      ? listed.filter((app) => matches(search, app.name, app.packageName, app.description))
      : listed;
  const isEmpty = library.data !== undefined && !library.isPlaceholderData && asked === search.trim() && apps.length === 0;
  return (
    <div className="library">
      <Page title="Library" lead="Apps that you can install. Your assistants, your chat and your glasses can then use their tools.">
        <div className="row library-head">
          <Search label="Search the library" value={search} onChange={setSearch} />
          <p className="muted" role="status">
            {session.data === undefined ? '\u00a0' : model !== undefined ? `Your glasses: ${model}` : <NoGlasses />}
          </p>
        </div>
        {library.isPending && <Loading what="the library" />}
        {library.error !== null && <ErrorBox error={library.error} onRetry={() => void library.refetch()} />}
        {isEmpty &&
          (asked === '' ? (
            <Empty title="The library is empty">
              <p>Apps appear here when a developer registers them on this server.</p>
            </Empty>
          ) : (
            <Empty title="Nothing found">
              <p>No apps match your search.</p>
            </Empty>
          ))}
        <ul className="plain-list library-grid">
          {apps.map((app) => (
            <AppCard key={app.packageName} app={app} model={model} />
          ))}
        </ul>
        <MoreFromServer pages={library} />
      </Page>
    </div>
  );
}

function NoGlasses() {
  return (
    <>
      No glasses connected. <Link to="/glasses">Connect some</Link> to see what fits.
    </>
  );
}
