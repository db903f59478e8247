/** The tools grouped by app, in an order that does not change when one of them is turned off. */
import { useMemo } from 'react';
import type { components } from '../../api/schema';
import { isObject } from '../apps/tools/json';
import { splitName, toTool, searchText, type Tool } from './tool';

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

export type Installed = components['schemas']['InstallSummary'];

export function useTools(
  listed: Listed | undefined,
  off: { tools: { name: string }[] } | undefined,
  apps: readonly Installed[] | undefined,
) {
  return useMemo(() => {
    const isOff = new Set(off?.tools.map(({ name }) => name));
    const byPackage = new Map(apps?.map((app) => [app.packageName, app]));
    const shown = (listed?.tools ?? []).filter(isObject).map(toTool);
    const hidden = (listed?.hidden ?? []).map((one) => hiddenTool(one, isOff.has(one.name)));
    const all = [...shown, ...hidden];
    const groups = new Map<string, ToolGroup>();
    for (const tool of all) {
      const group = groups.get(tool.package) ?? {
        package: tool.package,
        name: nameOf(tool.package, byPackage),
        icon: byPackage.get(tool.package)?.iconUrl,
        tools: [],
      };
      group.tools.push(tool);
      groups.set(tool.package, group);
    }
    for (const group of groups.values()) group.tools.sort((a, b) => ORDER.compare(a.title, b.title));
    const sorted = [...groups.values()].sort(
      (a, b) => Number(isBuiltIn(a.package)) - Number(isBuiltIn(b.package)) || ORDER.compare(a.name, b.name),
    );
    return { groups: sorted, count: all.length, on: shown.length };
  }, [listed, off, apps]);
}

/** Created once: creating a locale comparison for each pair is slow. */
const ORDER = new Intl.Collator();

const isBuiltIn = (name: string) => name === 'toolyard';

function nameOf(name: string, apps: ReadonlyMap<string, Installed>): string {
  if (isBuiltIn(name)) return 'Built in';
  const app = apps.get(name);
  if (app !== undefined) return app.name;
  return name.startsWith('plugin.') ? `Plugin ${name.slice('plugin.'.length)}` : name;
}

/** For a hidden tool the server sends only its name and the reason; its parameters are shown when it is on. */
function hiddenTool({ name, title, description, reason }: components['schemas']['HiddenTool'], isOff: boolean): Tool {
  const [of, local] = splitName(name);
  return {
    name,
    package: of,
    local,
    title: title || local,
    description: description ?? '',
    words: searchText(name, title || local, description ?? ''),
    hidden: reason,
    isOff,
  };
}
