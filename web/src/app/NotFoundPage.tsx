import { Shell } from '../shell/Shell';
import { usePageTitle } from '../shell/usePageTitle';
import { NotFound } from '../ui/NotFound';

export function NotFoundPage() {
  usePageTitle('Not found');
  return (
    <Shell>
      <NotFound />
    </Shell>
  );
}
