/** Links that add this server to a program on the user's computer. They contain its address and no credential. */
import { SERVER_NAME } from './guide';

const encodeConfig = (config: object) => encodeURIComponent(btoa(JSON.stringify(config)));

/** https://cursor.com/docs/mcp/install-links */
export const cursorLink = (url: string) =>
  `cursor://anysphere.cursor-deeplink/mcp/install?name=${SERVER_NAME}&config=${encodeConfig({ url })}`;

/** `handleMcpInstallUri` in microsoft/vscode: the query is the server as JSON. */
export const vscodeLink = (url: string) =>
  `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: SERVER_NAME, type: 'http', url }))}`;

/** https://lmstudio.ai/docs/app/mcp/deeplink */
export const lmStudioLink = (url: string) => `lmstudio://add_mcp?name=${SERVER_NAME}&config=${encodeConfig({ url })}`;

/** `addExtensionFromDeepLink` in aaif-goose/goose. Older versions need `type`. */
export function gooseLink(url: string): string {
  const parameters = { url, type: 'streamable_http', id: SERVER_NAME, name: 'Toolyard', description: 'Your tools on this server' };
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `goose://extension?${query.join('&')}`;
}
