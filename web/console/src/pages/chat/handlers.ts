/** Platform tools that only this console can run: open a page, draw a chart, confetti. */
import type { OnToolCall, ToolArguments } from '@toolyard/client';
import { argumentsOf } from '@toolyard/client';
import { PAGES } from '../../shell/pages';
import { chartOf } from './chart-data';
import { celebrate } from './celebration';

/** The category under which the server offers them. */
export const INTERFACE = 'interface';

/** `isShown`: whether the user is looking at the chat that the call belongs to. */
type Handler = (args: ToolArguments, isShown: () => boolean) => unknown;

const HANDLERS: Readonly<Record<string, Handler>> = {
  async open_page({ page }, isShown) {
    const target = PAGES.find(({ to }) => to === `/${String(page)}`);
    if (target === undefined) throw new Error(`there is no page ${String(page).slice(0, 40)}`);
    // Imported dynamically, because the router imports this page.
    const { router } = await import('../../router');
    // If the user is on another page, possibly writing something, do not navigate away.
    if (!isShown()) throw new Error('the user is on another page now, so the page was not opened');
    await router.navigate({ to: target.to });
    return { opened: target.name };
  },
  show_chart(args) {
    // The chart is drawn in the conversation, from the arguments of the call.
    return { shown: true, points: chartOf(args).labels.length };
  },
  celebrate() {
    celebrate();
    return { celebrated: true };
  },
};

export const isInterfaceTool = (tool: string) => Object.hasOwn(HANDLERS, tool);

/** Called for each call of this page. Calls without a handler belong to a plugin. */
export function runInPage({ call, isKnown, run }: Parameters<OnToolCall>[0], isShown: () => boolean): unknown {
  const handler = isKnown ? undefined : isInterfaceTool(call.tool) ? HANDLERS[call.tool] : undefined;
  return handler === undefined ? run() : handler(argumentsOf(call), isShown);
}
