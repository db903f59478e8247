import { Link } from '@tanstack/react-router';
import { Empty } from '../ui/feedback';

export function NotFound() {
  return (
    <Empty title="Page not found">
      <Link to="/chat">Go to the chat</Link>
    </Empty>
  );
}
