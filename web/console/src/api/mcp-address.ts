/** The address that clients use, as the server reports it. */
import { queryOptions } from '@tanstack/react-query';
import { get } from './console';
import type { components } from './schema';

type ResourceMetadata = components['schemas']['ProtectedResourceMetadata'];

export interface McpAddress {
  /** The MCP endpoint. */
  url: string;
  /** The same server without the path. */
  base: string;
  /** Whether clients can connect without a token. */
  supportsOAuth: boolean;
}

/** A server that listens on all interfaces does not know its own address. */
const UNSPECIFIED_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '[::]']);

/** OAuth clients compare the address with the one that the server reports, so that one counts and not the one in the address bar. */
export function resolveAddress(metadata: Partial<ResourceMetadata>, origin: string): McpAddress {
  const { resource = '', authorization_servers: issuers = [] } = metadata;
  const isUsable = URL.canParse(resource) && !UNSPECIFIED_HOSTS.has(new URL(resource).hostname);
  const url = isUsable ? resource : `${origin}/mcp`;
  return { url, base: url.replace(/\/mcp$/, ''), supportsOAuth: issuers.length > 0 };
}

export const mcpAddressQuery = queryOptions({
  queryKey: ['mcp-address'],
  queryFn: async ({ signal }) =>
    resolveAddress(await get<ResourceMetadata>('/.well-known/oauth-protected-resource/mcp', {}, signal), window.location.origin),
  staleTime: Infinity,
});

/** Names of this machine and of local networks, and private addresses (RFC 1918, link-local, unique local). */
const LOCAL_HOST =
  /^(localhost|.*\.localhost|.*\.local|.*\.internal|[^.:]+|0\.0\.0\.0|127\..*|10\..*|192\.168\..*|169\.254\..*|172\.(1[6-9]|2\d|3[01])\..*|\[(::1?|f[cd].*|fe80.*)\])$/;

/** Whether services on the internet can probably use it. */
export function isPublicAddress(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' && !LOCAL_HOST.test(hostname);
}
