/** Tools of the platform that only this console can run: opening a page, drawing a chart, confetti. */
import type { OnToolCall, ToolArguments } from '@toolyard/client';
import { argumentsOf } from '@toolyard/client';
import { PAGES } from '../../shell/pages';
import { chartOf } from './chart-data';
import { celebrate } from './celebration';

/** The category by which the server offers them. */
export const INTERFACE = 'interface';

/** `isShown`: whether the user looks at the chat that the call belongs to. */
type Handler = (args: ToolArguments, isShown: () => boolean) => unknown;

const HANDLERS: Readonly<Record<string, Handler>> = {
  async open_page({ page }, isShown) {
    const target = PAGES.find(({ to }) => to === `/${String(page)}`);
    if (target === undefined) throw new Error(`there is no page ${String(page).slice(0, 40)}`);
    // Loaded here and not above: the router knows this page.
    const { router } = await import('../../router');
    // Whoever went elsewhere, perhaps to write something, is not taken away from there.
    if (!isShown()) throw new Error('the user looks at something else now, so the page was not opened');
    await router.navigate({ to: target.to });
    return { opened: target.name };
  },
  show_chart(args) {
    // Drawn where the call stands in the conversation, from its arguments.
    return { shown: true, points: chartOf(args).labels.length };
  },
  celebrate() {
    celebrate();
    return { celebrated: true };
  },
};

export const isInterfaceTool = (tool: string) => Object.hasOwn(HANDLERS, tool);

/** Asked about each call of this page. What no handler knows belongs to a plugin. */
export function runHere({ call, isKnown, run }: Parameters<OnToolCall>[0], isShown: () => boolean): unknown {
  const handler = isKnown ? undefined : isInterfaceTool(call.tool) ? HANDLERS[call.tool] : undefined;
  return handler === undefined ? run() : handler(argumentsOf(call), isShown);
}
