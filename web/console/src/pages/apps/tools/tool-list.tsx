import type { Problem } from '../../../api/error';
import { Badge } from '../../../ui/feedback';
import { Lazy } from '../../../ui/lazy';
import { matches } from '../../../ui/matches';
import { Search } from '../../../ui/search';
import { useMemo, useState } from 'react';
import type { ToolDraft, WrittenDraft } from './draft';
import { isObject, isSameJson } from './json';

interface Props {
  drafts: readonly ToolDraft[];
  written: readonly WrittenDraft[];
  problems: readonly Problem[];
  /** The saved tools. */
  base: readonly unknown[];
  selected: string | undefined;
  onSelect: (key: string) => void;
}

/** Height of one tool in pixels. */
const ROW_HEIGHT = 38;
const FIRST_ROWS = 40;

export function ToolList({ drafts, written, problems, base, selected, onSelect }: Props) {
  const [search, setSearch] = useState('');
  const saved = useMemo(() => new Map(base.filter(isObject).map((tool) => [tool.name, tool])), [base]);
  const rows = drafts.map((draft, place) => {
    const before = saved.get(draft.name);
    const definition = written[place]?.definition;
    const wrong = (written[place]?.problems.length ?? 0) + problems.filter(({ path }) => path?.startsWith(`tools[${place}]`)).length;
    return { draft, wrong, state: before === undefined ? 'new' : isSameJson(before, definition) ? '' : 'changed' };
  });
  const shown = rows.filter(({ draft }) => matches(search, draft.name, draft.title, draft.description));
  return (
    <nav aria-label="Tools of this app">
      {drafts.length > 12 && <Search label="Search tools" value={search} onChange={setSearch} />}
      <ul className="plain-list tool-list">
        {shown.map(({ draft, wrong, state }, place) => (
          <Lazy key={draft.key} name={draft.name} height={ROW_HEIGHT} first={place < FIRST_ROWS}>
            {() => (
              <button type="button" aria-current={draft.key === selected ? 'true' : undefined} onClick={() => onSelect(draft.key)}>
                <span className="ellipsis">{draft.name === '' ? 'New tool' : draft.name}</span>
                {wrong > 0 ? (
                  <Badge kind="bad">
                    {wrong}
                    <span className="hidden"> {wrong === 1 ? 'problem' : 'problems'}</span>
                  </Badge>
                ) : (
                  state !== '' && <Badge kind="accent">{state}</Badge>
                )}
              </button>
            )}
          </Lazy>
        ))}
      </ul>
    </nav>
  );
}
