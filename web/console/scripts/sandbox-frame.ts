/** Serves the plugin sandbox in development, with the same headers as the server. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from 'vite';

const HOST = /^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/;
/** IP addresses are rejected, as on the server. */
const ADDRESS = /(^|\.)\d[^.]*$/;
const MOST_HOSTS = 16;

function policy(connect: string): string | null {
  const hosts = connect.split(',').filter(Boolean);
  if (hosts.length > MOST_HOSTS || !hosts.every((host) => HOST.test(host) && !ADDRESS.test(host))) return null;
  const reach = hosts.length === 0 ? "'none'" : hosts.map((host) => `https://${host}`).join(' ');
  return `sandbox allow-scripts; default-src 'none'; script-src 'self' 'unsafe-eval' blob:; worker-src blob:; connect-src ${reach}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`;
}

export function sandboxFrame(folder: string): Plugin {
  return {
    name: 'sandbox-frame',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const url = new URL(request.url ?? '/', 'http://localhost');
        const isFrame = url.pathname === '/sandbox/frame';
        if (!isFrame && url.pathname !== '/sandbox/frame.js') return next();
        const csp = policy(url.searchParams.get('connect') ?? '');
        if (csp === null) return void response.writeHead(400).end('connect: names of hosts, at most 16');
        response.setHeader('Content-Type', isFrame ? 'text/html; charset=utf-8' : 'text/javascript; charset=utf-8');
        response.setHeader('Content-Security-Policy', csp);
        response.setHeader('X-Content-Type-Options', 'nosniff');
        response.setHeader('Referrer-Policy', 'no-referrer');
        void readFile(join(folder, isFrame ? 'frame.html' : 'frame.js')).then((file) => response.end(file), next);
      });
    },
  };
}
