import { NotFound } from '../ui/NotFound';
import { Shell } from './Shell';
import { usePageTitle } from './usePageTitle';

export function NotFoundPage() {
  usePageTitle('Not found');
  return (
    <Shell>
      <NotFound />
    </Shell>
  );
}
