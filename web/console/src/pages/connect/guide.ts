/** How one client is connected. */
import type { McpAddress } from '../../api/mcp-address';

/** The name of this server in the configuration of clients. */
export const SERVER_NAME = 'toolyard';

/** Stands for the user's token. */
export const TOKEN_PLACEHOLDER = 'YOUR_TOKEN';

interface Snippet {
  /** A file or what the text is, unique among all guides. */
  label: string;
  text: string;
}

export interface GuideLink {
  label: string;
  href: string;
}

export interface ClientGuide {
  id: string;
  name: string;
  /** What kind of program it is. */
  kind: string;
  /** The client runs on the internet and must reach this server over https. */
  isHosted?: boolean;
  /** Code is marked with backticks. */
  steps: readonly string[];
  snippets: (address: McpAddress) => readonly Snippet[];
  /** Opens the client, or its page where servers are added. */
  link?: (url: string) => GuideLink;
  /** How it is recognized among connected clients. */
  identity?: ClientIdentity;
}

export interface ClientIdentity {
  /** Addresses of the client's metadata document, which the server has read. */
  documents?: readonly string[];
  /** Hosts that the browser returns to. */
  hosts?: readonly string[];
  /** How the client's own name starts. */
  names?: readonly string[];
}

export const jsonText = (value: unknown) => JSON.stringify(value, null, 2);
