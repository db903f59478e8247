/** The tools in groups by app, in an order that stays when one of them is turned off. */
import { useMemo, useRef } from 'react';
import type { LibraryApp } from '../../api/console';
import type { components } from '../../api/schema';
import { isObject } from '../apps/tools/json';
import { split, toolOf, type Tool } from './tool';

export interface ToolGroup {
  package: string;
  name: string;
  icon: string | null | undefined;
  tools: Tool[];
}

interface Listed {
  tools: unknown[];
  hidden?: components['schemas']['HiddenTool'][] | null;
}

export function useTools(listed: Listed | undefined, off: { tools: { name: string }[] } | undefined, apps: readonly LibraryApp[] | undefined) {
  // The server says of hidden tools only why: what was seen of one before it was turned off is still shown.
  const known = useRef(new Map<string, Tool>());
  return useMemo(() => {
    const isOff = new Set(off?.tools.map(({ name }) => name));
    const shown = (listed?.tools ?? []).filter(isObject).map(toolOf);
    for (const tool of shown) known.current.set(tool.name, tool);
    const hidden = (listed?.hidden ?? []).map(({ name, reason }): Tool => ({ ...(known.current.get(name) ?? inLibrary(name, apps)), hidden: reason, isOff: isOff.has(name) }));
    const all = [...shown, ...hidden];
    const groups = new Map<string, ToolGroup>();
    for (const tool of all) {
      const group = groups.get(tool.package) ?? { package: tool.package, name: nameOf(tool.package, apps), icon: apps?.find(({ packageName }) => packageName === tool.package)?.iconUrl, tools: [] };
      group.tools.push(tool);
      groups.set(tool.package, group);
    }
    for (const group of groups.values()) group.tools.sort((a, b) => a.title.localeCompare(b.title));
    const sorted = [...groups.values()].sort((a, b) => Number(isBuiltIn(a.package)) - Number(isBuiltIn(b.package)) || a.name.localeCompare(b.name));
    return { groups: sorted, count: all.length, on: shown.length };
  }, [listed, off, apps]);
}

const isBuiltIn = (name: string) => name === 'toolyard';

function nameOf(name: string, apps: readonly LibraryApp[] | undefined): string {
  if (isBuiltIn(name)) return 'Built in';
  const app = apps?.find(({ packageName }) => packageName === name);
  if (app !== undefined) return app.name;
  return name.startsWith('plugin.') ? `Plugin ${name.slice('plugin.'.length)}` : name;
}

function inLibrary(name: string, apps: readonly LibraryApp[] | undefined): Tool {
  const [of, local] = split(name);
  const found = apps?.find(({ packageName }) => packageName === of)?.tools.find((tool) => tool.name === local);
  return { name, package: of, local, title: found?.title ?? local, description: found?.description ?? '', isOff: false };
}
