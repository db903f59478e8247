import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { sandboxFrame } from './scripts/sandbox-frame.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const server = process.env.TOOLYARD_URL ?? 'http://127.0.0.1:8787';

export default defineConfig({
  base: '/console/',
  plugins: [react(), sandboxFrame(here('public/sandbox'))],
  resolve: {
    // The client is built from source with the console: one step, one copy of the AI SDK.
    alias: { '@toolyard/client': here('../client/src/index.ts') },
    dedupe: ['ai', 'react', 'react-dom'],
  },
  build: {
    target: 'es2023',
    // The console's Content-Security-Policy allows no inline code and no data URLs for it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/v1', '/oauth', '/.well-known', '/sign-in', '/glasses-ws'].map((path) => [
        path,
        { target: server, ws: true, changeOrigin: true, headers: { origin: server } },
      ]),
    ),
  },
});
