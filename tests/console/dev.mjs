// The stage for people: `node tests/console/dev.mjs [PORT]`, then `TOOLYARD_URL=http://127.0.0.1:PORT npm run dev` in web/console.
import { stage } from './stage.mjs';

const port = Number(process.argv[2] ?? 8787);
const it = await stage({ port, paced: true, assistant: process.argv.includes('--assistant') });
console.log(`Toolyard on ${it.url}, for ada@example.com. Ctrl-C stops it.`);
process.on('SIGINT', () => void it.close().then(() => process.exit(0)));
process.on('SIGTERM', () => void it.close().then(() => process.exit(0)));
